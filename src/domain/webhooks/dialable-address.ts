// Which addresses a webhook may be sent to: those of the public internet alone. A tenant chooses the URL,
// so that anything else would let it talk to our own network through us (SSRF).
import { BlockList, isIP } from 'node:net'

/**
 * IPv4 that is not the public internet.
 * https://www.iana.org/assignments/iana-ipv4-special-registry
 */
const REFUSED_IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by carriers, and the metadata of some clouds
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // the host of a machine at Azure, whose address only looks public
  '169.254.0.0/16', // link-local, and the metadata of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112, which answers for private names
  '192.52.193.0/24', // multicast relays
  '192.88.99.0/24', // relays from IPv6
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
]

/**
 * All of IPv6 that is given out as public. What lies outside is refused without being named: loopback,
 * link-local, unique-local, multicast, and IPv4 that is mapped (::ffff:), compatible or translated
 * (64:ff9b::).
 */
const PUBLIC_IPV6 = '2000::/3'

/**
 * IPv6 within it that is not the public internet, or leads to an IPv4 address unseen.
 * https://www.iana.org/assignments/iana-ipv6-special-registry
 */
const REFUSED_IPV6 = [
  '2001::/23', // protocol assignments, Teredo among them
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which holds an IPv4 address
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
]

const LOOPBACK = [listOf(['127.0.0.0/8'], 'ipv4'), listOf(['::1/128'], 'ipv6')] as const

const refusedIpv4 = listOf(REFUSED_IPV4, 'ipv4')
const publicIpv6 = listOf([PUBLIC_IPV6], 'ipv6')
const refusedIpv6 = listOf(REFUSED_IPV6, 'ipv6')

function listOf(ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', bits] = range.split('/')
    list.addSubnet(network, Number(bits), family)
  }
  return list
}

/**
 * Whether a webhook may be sent to an address, in the form that a resolver gives it. What is no plain
 * address, such as one with a zone (`fe80::1%eth0`), may not be dialled.
 *
 * @param allowLoopback whether this machine itself is a receiver, as in the one-command stack.
 */
export function isDialable(
  address: string,
  { allowLoopback }: { allowLoopback: boolean },
): boolean {
  if (address.includes('%')) return false
  const [loopbackIpv4, loopbackIpv6] = LOOPBACK
  switch (isIP(address)) {
    case 4:
      if (allowLoopback && loopbackIpv4.check(address, 'ipv4')) return true
      return !refusedIpv4.check(address, 'ipv4')
    case 6:
      if (allowLoopback && loopbackIpv6.check(address, 'ipv6')) return true
      return publicIpv6.check(address, 'ipv6') && !refusedIpv6.check(address, 'ipv6')
    default:
      return false
  }
}
