# A background task that goes on when somebody lets it: one process, and nothing that depends on time.
exec 9<> <(:)
echo begun
until [ -e go ]; do read -r -t 0.05 -u 9; done
echo finished
until [ -e end ]; do read -r -t 0.05 -u 9; done
exit 3
