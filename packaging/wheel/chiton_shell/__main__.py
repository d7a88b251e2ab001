from chiton_shell import main

main()
