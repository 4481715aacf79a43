// Limits how many invalid API keys a client address may send in a window, so that guessing costs the
// guesser and not the store. Each process counts by itself. A key that has worked in this process is
// never refused, because other clients may share the address of the guesser.
import { isIPv6 } from 'node:net'
import { nameOfKey } from '../server/api-key-cache.ts'

/** The address and the key of a request that is not authenticated yet. */
export interface Attempt {
  readonly address: string
  readonly apiKey: string
}

export interface InvalidKeysLimit {
  /** Seconds until the address may try a key again; undefined when it may now. */
  secondsUntilNext(attempt: Attempt): number | undefined
  /** Counts a key that did not work. */
  failed(attempt: Attempt): void
  /** Records that a key worked. */
  worked(attempt: Attempt): void
}

/**
 * Some megabytes each. Addresses beyond that share the count of their surroundings, of which the
 * oldest is evicted; so is the oldest key.
 */
const ADDRESSES_MAX = 50_000
const KEYS_MAX = 10_000

/** @param limit 0: no limit. */
export function createInvalidKeysLimit(
  { limit, windowSeconds }: { readonly limit: number; readonly windowSeconds: number },
  now: () => number = Date.now,
): InvalidKeysLimit {
  const windowMs = windowSeconds * 1_000
  const workingKeys = new Set<string>()
  let counts = new Map<string, number>()
  let countsAround = new Map<string, number>()
  let windowEndsAtMs = 0

  const countsNow = () => {
    if (now() >= windowEndsAtMs) {
      windowEndsAtMs = (Math.floor(now() / windowMs) + 1) * windowMs
      counts = new Map()
      countsAround = new Map()
    }
    return counts
  }
  const countOf = (network: string): number =>
    countsNow().get(network) ?? countsAround.get(surroundingsOf(network)) ?? 0

  return {
    secondsUntilNext({ address, apiKey }) {
      if (limit === 0 || countOf(networkOf(address)) < limit) return undefined
      if (workingKeys.has(nameOfKey(apiKey))) return undefined
      return Math.max(1, Math.ceil((windowEndsAtMs - now()) / 1_000))
    },
    failed({ address }) {
      const network = networkOf(address)
      const isCounted = countsNow().has(network) || counts.size < ADDRESSES_MAX
      if (isCounted) return void counts.set(network, (counts.get(network) ?? 0) + 1)
      const around = surroundingsOf(network)
      countsAround.set(around, (countsAround.get(around) ?? 0) + 1)
      evictOldest(countsAround, ADDRESSES_MAX)
    },
    worked({ apiKey }) {
      const name = nameOfKey(apiKey)
      // A set keeps the order of insertion: the first key has not worked for the longest time.
      workingKeys.delete(name)
      workingKeys.add(name)
      evictOldest(workingKeys, KEYS_MAX)
    },
  }
}

/** Maps and sets keep the order of insertion. */
function evictOldest(kept: Map<string, unknown> | Set<string>, most: number): void {
  const [oldest] = kept.keys()
  if (kept.size > most && oldest !== undefined) kept.delete(oldest)
}

/** The /16 network of an IPv4 address, or the /32 network of an IPv6 network: that of a provider. */
function surroundingsOf(network: string): string {
  const separator = network.includes(':') ? ':' : '.'
  return network.split(separator).slice(0, 2).join(separator)
}

/**
 * The address, or the /64 network of an IPv6 address: a client has all of its addresses
 * (RFC 6177, section 2).
 */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = address.toLowerCase().split('::')
  const left = head.split(':').filter((group) => group !== '')
  const right = (tail ?? '').split(':').filter((group) => group !== '')
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length
  const groups = [...left, ...Array.from({ length: zeros }, () => '0'), ...right]
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
