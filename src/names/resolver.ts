// Resolves host names by asking the name servers over sockets (c-ares). The system's own resolver
// runs on four threads that the whole process shares, and an abort does not free them: one silent
// name server would stop everything that needs a name.
import type { LookupAddress, RecordWithTtl } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { type LookupFunction, isIP } from 'node:net'

export interface NamesOptions {
  /** The time limit for one name, in milliseconds. It holds even if no name server answers. */
  readonly timeoutMs: number
  /** The name servers, such as `10.0.0.2` or `10.0.0.2:53`; those of the system by default. */
  readonly servers?: readonly string[] | undefined
  /** The file of fixed names; /etc/hosts by default. */
  readonly hostsFile?: string
  readonly monotonicMs: () => number
}

/** Returns all addresses of a host name. Rejects with a NameError when there are none. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

/**
 * Answers are kept as long as their records say, within these bounds: a change of a name is seen
 * within five minutes, and a name without a lifetime is not asked for with every request.
 */
const KEPT_SECONDS = { least: 1, most: 300 }
/** A failure is kept, too, so that a name that does not resolve costs one query a second. */
const FAILURE_SECONDS = 1
/** Names of many tenants. The one that was not used for the longest time goes first. */
const NAMES_MAX = 10_000

/**
 * A host name has no address, or no name server said so in time. Nothing was sent to the host. The code
 * and the system call are those of a name that the system does not find.
 */
export class NameError extends Error {
  override name = 'NameError'
  readonly code = 'ENOTFOUND'
  readonly syscall = 'getaddrinfo'

  constructor(hostname: string, options?: ErrorOptions) {
    super(`the host name ${hostname} was not resolved`, options)
  }
}

interface Answer {
  readonly addresses: readonly LookupAddress[]
  readonly keptSeconds: number
}

interface Kept {
  readonly answer: Promise<Answer>
  untilMs: number
}

/** Creates a resolver, with a cache of its own. Queries for the same name are sent once. */
export function createResolver(options: NamesOptions): Resolve {
  const { timeoutMs, servers, monotonicMs } = options
  const fixed = parseHosts(readHosts(options.hostsFile ?? '/etc/hosts'))
  const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / 2), tries: 2 })
  if (servers !== undefined) resolver.setServers(servers)
  const kept = new Map<string, Kept>()

  const ask = (hostname: string): Kept => {
    const answer = askWithin(resolver, hostname, timeoutMs)
    // While the query runs, every caller waits for it.
    const entry = { answer, untilMs: Number.POSITIVE_INFINITY }
    answer.then(
      ({ keptSeconds }) => (entry.untilMs = monotonicMs() + keptSeconds * 1_000),
      () => (entry.untilMs = monotonicMs() + FAILURE_SECONDS * 1_000),
    )
    return entry
  }

  return async (hostname) => {
    const name = hostname.toLowerCase().replace(/\.$/, '')
    const own = fixed.get(name) ?? loopbackOf(name)
    if (own !== undefined) return own
    const known = kept.get(name)
    const entry = known !== undefined && monotonicMs() < known.untilMs ? known : ask(name)
    // A map keeps the order of insertion: the first one was used the longest time ago.
    kept.delete(name)
    kept.set(name, entry)
    for (const [oldest] of kept) {
      if (kept.size <= NAMES_MAX) break
      kept.delete(oldest)
    }
    return (await entry.answer).addresses
  }
}

/** Both kinds of address are asked for; one kind is enough. */
async function askWithin(resolver: Resolver, name: string, timeoutMs: number): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no name server answered in time')), timeoutMs)
  })
  const queries = [
    resolver.resolve4(name, { ttl: true }).then((records) => withFamily(records, 4)),
    resolver.resolve6(name, { ttl: true }).then((records) => withFamily(records, 6)),
  ]
  const answers = await Promise.allSettled(queries.map((one) => Promise.race([one, timeUp])))
  clearTimeout(timer)
  const found = answers.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  if (found.length === 0) throw new NameError(name, { cause: reasonOf(answers) })
  // Without its answer for IPv4, which every machine has, it is kept as briefly as a failure. Some
  // name servers never answer for IPv6.
  const isWhole = answers[0] === undefined || !isLost(answers[0])
  const lifetime = isWhole ? Math.min(...found.map(({ ttl }) => ttl)) : FAILURE_SECONDS
  const keptSeconds = Math.min(Math.max(lifetime, KEPT_SECONDS.least), KEPT_SECONDS.most)
  return { addresses: found.map(({ address, family }) => ({ address, family })), keptSeconds }
}

function withFamily(records: readonly RecordWithTtl[], family: 4 | 6) {
  return records.map(({ address, ttl }) => ({ address, ttl, family }))
}

/** Whether the name server did not say if there are addresses of this kind. */
function isLost(answer: PromiseSettledResult<unknown>): boolean {
  if (answer.status === 'fulfilled') return false
  const { code } = answer.reason as NodeJS.ErrnoException
  return code !== 'ENODATA' && code !== 'ENOTFOUND'
}

/** Why there is no address of either kind. */
function reasonOf(answers: readonly PromiseSettledResult<unknown>[]): unknown {
  return answers.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))[0]
}

/** `localhost` and the names below it are this machine (RFC 6761, section 6.3). */
function loopbackOf(name: string): readonly LookupAddress[] | undefined {
  if (name !== 'localhost' && !name.endsWith('.localhost')) return undefined
  return [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
}

function readHosts(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** The resolver in the form that Node's sockets and agents take. */
export function lookupBy(resolve: Resolve): LookupFunction {
  return (hostname, { all = false, family = 0 }, callback) => {
    const wanted = { IPv4: 4, IPv6: 6 }[family] ?? family
    const answer = async (): Promise<void> => {
      let fitting: LookupAddress[]
      try {
        const addresses = await resolve(hostname)
        fitting = addresses.filter((one) => wanted === 0 || one.family === wanted)
      } catch (error) {
        return callback(error as NodeJS.ErrnoException, '')
      }
      const [first] = fitting
      if (first === undefined) return callback(new NameError(hostname), '')
      return all ? callback(null, fitting) : callback(null, first.address, first.family)
    }
    void answer()
  }
}

/**
 * Parses the file of fixed host names (hosts(5)), which name servers do not know: Docker's `extra_hosts` and
 * Kubernetes' `hostAliases` write it. Addresses are in the order of the file. Lines that make no sense are
 * skipped.
 */
function parseHosts(text: string): ReadonlyMap<string, readonly LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const family = isIP(address)
    if (family === 0) continue
    for (const name of names.map((one) => one.toLowerCase())) {
      hosts.set(name, [...(hosts.get(name) ?? []), { address, family }])
    }
  }
  return hosts
}
