#!/bin/sh
# Makes the constants by which the kernel's siw sets up connections module parameters, so that
# interop.py can change them: CRC, revision of MPA, peer-to-peer mode, segments larger than the MTU.
#
# usage: siw_parameters.sh LINUX     (the source of the kernel for the guest, before it is compiled)
set -eu
siw=$1/drivers/infiniband/sw/siw
flags='try_gso|mpa_crc_required|mpa_crc_strict|peer_to_peer'
sed -Ei "s/^extern const (bool ($flags);)/extern \\1/" "$siw/siw.h"
sed -Ei "s/^const (bool ($flags));/\\1;\nmodule_param(\\2, bool, 0644);/
  s/^(u_char (mpa_version) = .*;)/\\1\nmodule_param(\\2, byte, 0644);/" "$siw/siw_main.c"
[ "$(grep -c '^module_param(.*, 0644);' "$siw/siw_main.c")" = 5 ] || {
  echo "siw_parameters.sh: this source of siw is another one" >&2
  exit 1
}
