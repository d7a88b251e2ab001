// Talks to the server. Streams come back by themselves when the server was restarted.

let hello = { control: false, token: "", version: "", state_directory: "" };

export class Refused extends Error {}

/** What the server says about itself; asked for anew after each pause. */
export async function greet() {
  const answer = await fetch("/api/hello", { cache: "no-store" });
  if (!answer.ok) throw new Refused((await answer.text()).trim());
  hello = await answer.json();
  return hello;
}

/** Whether a person may act on this page. */
export const mayAct = () => hello.control;

export async function get(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Refused(await reason(answer));
  return answer.json();
}

/** Does something. The token is that of the server that runs now, so a stale one is asked for once more. */
export async function post(path, body = {}, again = true) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-chiton-token": hello.token },
    body: JSON.stringify(body),
  });
  if (answer.status === 403 && again) {
    await greet();
    return post(path, body, false);
  }
  if (!answer.ok) throw new Refused(await reason(answer));
  return (await answer.json()).said;
}

async function reason(answer) {
  const text = await answer.text();
  try {
    return JSON.parse(text).error;
  } catch {
    return text.trim() || `the server answered ${answer.status}`;
  }
}

/**
 * A stream of events. `events` has a function for each kind; `begin` may be sent again, after a pause. Gives a function
 * that ends the stream. A page that nobody sees has no streams, since a browser opens only a few at a time.
 */
export function stream(path, events, { lasting = true, onpause } = {}) {
  let source;
  let timer;
  let over = false;
  let pause = 500;

  const open = () => {
    if (over || source || document.hidden) return;
    source = new EventSource(path);
    source.onopen = () => (pause = 500);
    for (const [name, act] of Object.entries(events)) {
      source.addEventListener(name, (event) => act(JSON.parse(event.data)));
    }
    source.onerror = () => {
      shut();
      if (over || !lasting) return;
      onpause?.();
      timer = setTimeout(open, pause);
      pause = Math.min(pause * 2, 5000);
    };
  };
  const shut = () => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };
  const look = () => (document.hidden ? shut() : open());
  const end = () => {
    over = true;
    document.removeEventListener("visibilitychange", look);
    shut();
  };
  document.addEventListener("visibilitychange", look);
  open();
  return end;
}
