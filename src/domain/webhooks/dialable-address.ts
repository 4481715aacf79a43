// Decides to which addresses a webhook may be sent: only to those of the public internet. Tenants
// choose the URL, so anything else would give them access to our own network (SSRF).
import { BlockList, isIP } from 'node:net'

/**
 * IPv4 ranges that are not the public internet.
 * https://www.iana.org/assignments/iana-ipv4-special-registry
 */
const REFUSED_IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by carriers, and the metadata of some clouds
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // the host of a machine at Azure, although it looks public
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
 * The public part of IPv6. Everything outside is refused: loopback, link-local, unique-local,
 * multicast, and IPv4 addresses that are mapped (::ffff:), compatible or translated (64:ff9b::).
 */
const PUBLIC_IPV6 = '2000::/3'

/**
 * Ranges inside PUBLIC_IPV6 that are not the public internet, or that hide an IPv4 address.
 * https://www.iana.org/assignments/iana-ipv6-special-registry
 */
const REFUSED_IPV6 = [
  '2001::/23', // protocol assignments, Teredo among them
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which contains an IPv4 address
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
 * Whether a webhook may be sent to an address, in the form that a resolver returns. Addresses with
 * a zone (`fe80::1%eth0`) are refused.
 *
 * @param allowLoopback whether this machine may receive webhooks, as with `npm start`.
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
