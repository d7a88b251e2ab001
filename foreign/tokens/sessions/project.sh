# A small project for the recorded sessions, in the current directory.
set -e
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
export GIT_AUTHOR_DATE='2026-01-05T10:00:00Z' GIT_COMMITTER_DATE='2026-01-05T10:00:00Z'
git init --quiet --initial-branch=main .
git config user.name Ada
git config user.email ada@example.org
mkdir -p shop tests scripts
printf '# Shop\n\nKeeps an inventory and takes orders.\n\n- `make`-free: run `scripts/build.sh`\n- tests: `python3 -m unittest`\n' > README.md
printf '__pycache__/\n*.log\n' > .gitignore
touch shop/__init__.py tests/__init__.py
cat > shop/inventory.py <<'P'
"""What is in store."""


class Inventory:
    def __init__(self):
        self.items = {}

    def add(self, name, count=1):
        if count < 1:
            raise ValueError(f"cannot add {count} of {name}")
        self.items[name] = self.items.get(name, 0) + count

    def take(self, name, count=1):
        # TODO: say which item is missing
        left = self.items[name] - count
        if left < 0:
            raise LookupError(name)
        self.items[name] = left

    def total(self):
        return sum(self.items.values())
P
cat > shop/orders.py <<'P'
"""Orders, and what they cost."""

from shop.inventory import Inventory

PRICES = {"nail": 2, "hammer": 1200, "saw": 1800}


def price(order):
    # TODO: discounts
    return sum(PRICES[name] * count for name, count in order.items())


def place(inventory: Inventory, order):
    for name, count in order.items():
        inventory.take(name, count)
    return price(order)
P
cat > tests/test_orders.py <<'P'
import unittest

from shop.inventory import Inventory
from shop.orders import place, price


class Orders(unittest.TestCase):
    def test_price(self):
        self.assertEqual(price({"nail": 10, "saw": 1}), 1820)

    def test_discount(self):
        self.assertEqual(price({"nail": 1000}), 1800)

    def test_place(self):
        inventory = Inventory()
        inventory.add("nail", 5)
        self.assertEqual(place(inventory, {"nail": 3}), 6)
        self.assertEqual(inventory.total(), 2)

    def test_missing(self):
        with self.assertRaises(LookupError):
            place(Inventory(), {"saw": 1})
P
cat > scripts/build.sh <<'P'
#!/bin/bash
# Checks every file, as a compiler would report it.
status=0
for file in shop/*.py tests/*.py scripts/*.txt; do
  echo "[build] checking $file"
  if grep -n 'FIXME' "$file" | sed "s|^\([0-9]*\):\(.*\)|$file:\1:1: error: unfinished code\n    \2\n    ^~~~~|" >&2; then
    grep -q 'FIXME' "$file" && status=1
  fi
done
[ $status = 0 ] && echo "[build] done, 0 errors" || { echo "[build] failed" >&2; exit $status; }
P
cat > scripts/steps.sh <<'P'
#!/bin/bash
# A build that takes a while. Each step waits for a file, so that whoever reads along decides how fast it goes.
for step in compile link package; do
  echo "[$step] begin"
  until [ -e "go-$step" ]; do sleep 0.05; done
  for part in 1 2 3 4; do echo "[$step] part $part of 4"; done
done
echo "all steps done"
P
cat > scripts/serve.py <<'P'
import http.server
import sys

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
port = server.server_address[1]
open("port.log", "w").write(str(port))
print(f"Serving on http://127.0.0.1:{port}/", flush=True)
server.serve_forever()
P
cat > scripts/ask.py <<'P'
import urllib.request

port = open("port.log").read()
print(urllib.request.urlopen(f"http://127.0.0.1:{port}/README.md").read().decode(), end="")
P
cat > scripts/noisy.sh <<'P'
#!/bin/bash
# Four thousand lines of a log.
for ((line = 1; line <= 4000; line++)); do
  printf '2026-01-05T10:%02d:%02d INFO worker-%d handled request %05d in %d ms\n' $((line / 60 % 60)) $((line % 60)) $((line % 7)) "$line" $((line * 37 % 250))
done
P
printf 'nail 10\nsaw 1\nFIXME hammer\n' > scripts/stock.txt
chmod +x scripts/*.sh
git add . && git commit --quiet -m 'Begin with a shop'
printf '\n## Prices\n\nIn cents.\n' >> README.md
git commit --quiet -am 'Say what the prices mean'
