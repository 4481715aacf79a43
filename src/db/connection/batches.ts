// Runs requests together: those of one turn of the event loop, those that arrive while a batch is
// under way, and those of siblings that come within milliseconds. A lone request does not wait. One
// failure never fails its neighbours: the members of a failed batch are tried singly. See
// docs/decisions/0046-requests-share-statements.md.

/**
 * Runs several requests in one transaction, and returns their results in the same order. It must be
 * safe to repeat after a lost acknowledgment.
 *
 * @param context of the first request, such as its pool.
 */
export type RunBatch<Request, Result, Context = void> = (
  requests: readonly Request[],
  context: Context,
) => Promise<readonly Result[]>

export interface BatchLimits {
  readonly size: number
  /** A batch that takes longer, because it waits for a lock, no longer holds back the next one. */
  readonly holdBackMs: number
}

/** A batch of 64 takes less time than the requests would take singly on the connections of a pool. */
const LIMITS: BatchLimits = { size: 64, holdBackMs: 25 }

/**
 * How many siblings a batch waits for, and how long. With fewer, the wait costs more than the larger
 * batch saves. PostgreSQL waits before a commit by such a rule (`commit_siblings`, `commit_delay`).
 */
const SIBLINGS_LEAST = 4
const COLLECT_MS = 8

interface Waiting<Request, Result, Context> {
  readonly request: Request
  readonly context: Context
  readonly resolve: (result: Result | Promise<Result>) => void
}

export interface BatchOptions<Request, Context = void> {
  /** Names the requests that may share a batch; by default all may. */
  readonly groupOf?: ((request: Request, context: Context) => string) | undefined
  /** Names what only one request of a batch may be about. Another one is run alone, beside it. */
  readonly subjectOf?: ((request: Request) => string) | undefined
  /**
   * How much work is in progress whose requests may share a batch with this one, and itself. While
   * fewer than half of them wait, a batch waits for them for a few milliseconds.
   */
  readonly siblings?: ((request: Request) => number) | undefined
  readonly limits?: BatchLimits | undefined
}

/** The requests that may share a batch. */
interface Group<Request, Result, Context> {
  readonly waiting: Waiting<Request, Result, Context>[]
  /** Whether a batch is under way that the next one waits for. */
  isHeldBack: boolean
  /** Ends the wait for siblings. */
  collecting?: NodeJS.Timeout | undefined
}

/** Returns a function that runs a request in a batch. */
export function createBatches<Request, Result, Context = void>(
  run: RunBatch<Request, Result, Context>,
  {
    groupOf = () => '',
    subjectOf,
    limits = LIMITS,
    siblings = () => 0,
  }: BatchOptions<Request, Context> = {},
): (request: Request, context: Context) => Promise<Result> {
  const groups = new Map<string, Group<Request, Result, Context>>()

  const startNext = (name: string, group: Group<Request, Result, Context>): void => {
    const [first] = group.waiting
    if (group.isHeldBack || first === undefined) return
    const expected = siblings(first.request)
    const enough = expected < SIBLINGS_LEAST ? 1 : Math.min(expected / 2, limits.size)
    if (group.waiting.length >= enough) start(name, group)
    else group.collecting ??= setTimeout(() => start(name, group), COLLECT_MS)
  }

  const start = (name: string, group: Group<Request, Result, Context>): void => {
    clearTimeout(group.collecting)
    group.collecting = undefined
    group.isHeldBack = true
    let isOver = false
    const end = (): void => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      group.isHeldBack = false
      if (group.waiting.length === 0) groups.delete(name)
      else startNext(name, group)
    }
    const timer = setTimeout(end, limits.holdBackMs)
    const { members, apart } = separate(group.waiting.splice(0, limits.size), subjectOf)
    for (const member of apart) member.resolve(runAlone(run, member))
    void runBatch(run, members).then(end)
  }

  return (request, context) =>
    new Promise((resolve) => {
      const name = groupOf(request, context)
      const group = groups.get(name) ?? { waiting: [], isHeldBack: false }
      groups.set(name, group)
      group.waiting.push({ request, context, resolve })
      // After the other sockets that have become readable meanwhile.
      setImmediate(() => startNext(name, group))
    })
}

/** The first request about each subject, and the others. */
function separate<Request, Member extends { readonly request: Request }>(
  waiting: readonly Member[],
  subjectOf: ((request: Request) => string) | undefined,
): { members: readonly Member[]; apart: readonly Member[] } {
  if (subjectOf === undefined) return { members: waiting, apart: [] }
  const subjects = [...Map.groupBy(waiting, ({ request }) => subjectOf(request)).values()]
  return {
    members: subjects.flatMap(([first]) => first ?? []),
    apart: subjects.flatMap(([, ...others]) => others),
  }
}

/** Resolves when the batch has ended. Its members may still be tried singly then. */
async function runBatch<Request, Result, Context>(
  run: RunBatch<Request, Result, Context>,
  members: readonly Waiting<Request, Result, Context>[],
): Promise<void> {
  const [first] = members
  if (first === undefined) return
  try {
    const requests = members.map(({ request }) => request)
    const results = await run(requests, first.context)
    members.forEach(({ resolve }, index) => resolve(results[index] as Result))
  } catch (error) {
    const isAlone = members.length === 1
    for (const member of members) {
      member.resolve(isAlone ? Promise.reject(error) : runAlone(run, member))
    }
  }
}

async function runAlone<Request, Result, Context>(
  run: RunBatch<Request, Result, Context>,
  { request, context }: Waiting<Request, Result, Context>,
): Promise<Result> {
  const [result] = await run([request], context)
  return result as Result
}
