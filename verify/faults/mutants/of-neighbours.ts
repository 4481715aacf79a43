// Mutants of what keeps one tenant from delaying another.
import type { Mutant } from './mutant.ts'

export const mutantsOfNeighbours: readonly Mutant[] = [
  {
    name: 'jobs-in-the-order-of-creation',
    breaks: 'Workers fetch the jobs of all tenants as if they were those of one.',
    patches: [
      {
        file: 'src/db/queue/turns.ts',
        text: "sql`coalesce(data ->> 'tenantId', '')`",
        replacement: 'sql`${""}::text`',
      },
    ],
    caughtBy: 7,
    shownBy: ['noisy-neighbour'],
  },
  {
    name: 'endpoint-circuit-never-opens',
    breaks: 'An endpoint that hangs is tried with every event.',
    patches: [
      {
        file: 'src/db/webhooks/endpoint-health.ts',
        text: 'opens ? pauseEnd(tx, failures) : tx`paused_until`',
        replacement: 'opens ? null : tx`paused_until`',
      },
    ],
    caughtBy: 7,
    shownBy: ['noisy-neighbour'],
  },
  {
    // `dns.lookup` itself asks only the name servers of the system, which a test cannot silence.
    name: 'names-on-four-threads',
    breaks:
      'Names are resolved as by `dns.lookup`: on four threads for all, which an abort does not free, and without a cache.',
    patches: [
      {
        file: 'src/names/resolver.ts',
        text: 'known !== undefined && monotonicMs() < known.untilMs ? known : ask(name)',
        replacement: 'ask(name)',
      },
      {
        file: 'src/names/resolver.ts',
        text: 'async function askWithin(resolver: Resolver, name: string, timeoutMs: number): Promise<Answer> {',
        replacement: `const busy = new Set<Promise<unknown>>()

async function askWithin(...asked: Parameters<typeof askServers>): Promise<Answer> {
  while (busy.size >= 4) await Promise.race(busy)
  const answer = askServers(...asked)
  // The system's resolver gives up after two tries of five seconds each.
  const thread = answer.catch(() => new Promise((resolve) => setTimeout(resolve, 10_000).unref()))
  busy.add(thread)
  void thread.then(() => busy.delete(thread))
  return await answer
}

async function askServers(resolver: Resolver, name: string, timeoutMs: number): Promise<Answer> {`,
      },
    ],
    caughtBy: 7,
    shownBy: ['silent-dns'],
  },
  {
    name: 'guesses-unlimited',
    breaks: 'A client may try as many API keys as it likes.',
    patches: [
      {
        file: 'src/http/limits/invalid-keys.ts',
        text: 'counts.set(network, (counts.get(network) ?? 0) + 1)',
        replacement: 'counts.set(network, 0)',
      },
    ],
    caughtBy: 7,
    shownBy: ['key-guessing'],
  },
]
