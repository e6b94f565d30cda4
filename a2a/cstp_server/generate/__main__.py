"""`python -m cstp_server.generate`."""

import sys

from cstp_server.generate.reference import main

sys.exit(main(sys.argv[1:]))
