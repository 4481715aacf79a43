// Decides to which addresses a webhook may be sent: only to those of the public internet. Tenants
// choose the URL, so anything else would give them access to our own network (SSRF). Checks
// the form of a URL, when an endpoint is created and again before each attempt; the addresses behind its host
// name are resolved and checked when it is dialled.
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
 * The public part of IPv6. Everything outside is refused: loopback, link-local, unique-local and
 * multicast; except for what contains an IPv4 address.
 */
const PUBLIC_IPV6 = '2000::/3'

/**
 * Ranges inside PUBLIC_IPV6 that are not the public internet.
 * https://www.iana.org/assignments/iana-ipv6-special-registry
 */
const REFUSED_IPV6 = [
  '2001::/23', // protocol assignments, Teredo among them
  '2001:db8::/32', // documentation
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
]

/** Where the four bytes of an IPv4 address stand among the sixteen of the IPv6 address. */
type Places = readonly [number, number, number, number]
const AT_THE_END: Places = [12, 13, 14, 15]

/**
 * Ranges whose addresses lead to an IPv4 address, which decides. A network behind DNS64 has only
 * such addresses of receivers that have no IPv6.
 */
const EMBEDDING: readonly (readonly [range: string, places: readonly Places[]])[] = [
  ['::ffff:0:0/96', [AT_THE_END]], // mapped (RFC 4291)
  ['64:ff9b::/96', [AT_THE_END]], // translated by NAT64 (RFC 6052)
  // Translated by NAT64 with a prefix of the network's own (RFC 8215). The prefix has one of these
  // lengths (RFC 6052, section 2.2): 48, 56, 64 or 96 bits.
  ['64:ff9b:1::/48', [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], AT_THE_END]],
  ['2002::/16', [[2, 3, 4, 5]]], // 6to4 (RFC 3056)
]

const LOOPBACK = [listOf(['127.0.0.0/8'], 'ipv4'), listOf(['::1/128'], 'ipv6')] as const

const refusedIpv4 = listOf(REFUSED_IPV4, 'ipv4')
const publicIpv6 = listOf([PUBLIC_IPV6], 'ipv6')
const refusedIpv6 = listOf(REFUSED_IPV6, 'ipv6')

const embedding = EMBEDDING.map(([range, places]) => ({ list: listOf([range], 'ipv6'), places }))

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
      return isPublicIpv6(address)
    default:
      return false
  }
}

function isPublicIpv6(address: string): boolean {
  // A list of IPv6 ranges looks at mapped addresses as IPv4.
  const found = embedding.find(({ list }) => list.check(address, 'ipv6'))
  if (found === undefined) {
    return publicIpv6.check(address, 'ipv6') && !refusedIpv6.check(address, 'ipv6')
  }
  const bytes = bytesOf(address)
  // With a prefix of unknown length, each address that may be meant has to be a public one. One that
  // begins with 0 leads nowhere.
  const embedded = found.places
    .map((places) => places.map((place) => bytes[place]).join('.'))
    .filter((one) => !one.startsWith('0.'))
  return embedded.length > 0 && embedded.every((one) => !refusedIpv4.check(one, 'ipv4'))
}

/** The sixteen bytes of an IPv6 address. */
function bytesOf(address: string): readonly number[] {
  // A URL has the one usual form, without dots.
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [first, last] = [head, tail].map((part) => (part === '' ? [] : part.split(':')))
  const missing = 8 - (first?.length ?? 0) - (last?.length ?? 0)
  const groups = [...(first ?? []), ...Array<string>(missing).fill('0'), ...(last ?? [])]
  return groups.map((group) => Number.parseInt(group, 16)).flatMap((n) => [n >> 8, n & 255])
}

/** A valid URL, or the reason why it is refused. */
type CheckedUrl = { readonly url: URL } | { readonly refusal: string }

/**
 * Reads the URL of a webhook endpoint: https, without credentials, without a fragment and without
 * control characters, some of which `URL` would drop in silence. Any port is allowed: nothing is sent before the TLS handshake, so servers of other protocols receive no
 * request. `URL` converts IPv4 addresses in octal, in hexadecimal or as one number into the usual
 * form.
 *
 * @param allowInsecure whether http and this machine's own addresses are allowed, too.
 */
export function checkWebhookUrl(
  text: string,
  { allowInsecure }: { allowInsecure: boolean },
): CheckedUrl {
  if (/\p{Cc}/u.test(text)) return { refusal: 'It must not contain control characters.' }
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) return { refusal: 'It is not an absolute URL.' }
  if (url.protocol !== 'https:' && !(allowInsecure && url.protocol === 'http:')) {
    return { refusal: 'Its scheme must be https.' }
  }
  if (url.username !== '' || url.password !== '') {
    return { refusal: 'It must not contain credentials.' }
  }
  if (url.hash !== '') return { refusal: 'It must not contain a fragment.' }
  const host = hostOf(url)
  if (isIP(host) !== 0 && !isDialable(host, { allowLoopback: allowInsecure })) {
    return { refusal: 'Its address is not a public internet address.' }
  }
  return { url }
}

/** The host name or address of a URL; an IPv6 address without its brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
