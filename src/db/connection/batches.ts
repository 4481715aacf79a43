// Runs requests together: those of one turn of the event loop, those that arrive while a batch is
// under way, and those of siblings that come within milliseconds. A lone request does not wait. One
// failure never fails its neighbours: the members of a failed batch are tried singly.

/**
 * Runs several requests in one transaction, and returns their results in the same order. It must be
 * safe to repeat after a lost acknowledgment.
 */
export type RunBatch<Request, Result> = (requests: readonly Request[]) => Promise<readonly Result[]>

export interface BatchLimits {
  readonly size: number
  /** A batch that takes longer, because it waits for a lock, no longer holds back the next one. */
  readonly patienceMs: number
}

/** A batch of 64 takes less time than the requests would take singly on the connections of a pool. */
const LIMITS: BatchLimits = { size: 64, patienceMs: 25 }

/**
 * How many siblings a batch waits for, and how long. With fewer, the wait costs more than the larger
 * batch saves. PostgreSQL waits before a commit by such a rule (`commit_siblings`, `commit_delay`).
 */
const SIBLINGS_LEAST = 4
const COLLECT_MS = 8

interface Waiting<Request, Result> {
  readonly request: Request
  readonly resolve: (result: Result | Promise<Result>) => void
}

export interface BatchOptions<Request> {
  /** Names the requests that may share a batch; by default all may. */
  readonly groupOf?: ((request: Request) => string) | undefined
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
interface Group<Request, Result> {
  readonly waiting: Waiting<Request, Result>[]
  /** Whether a batch is under way that the next one waits for. */
  isHeldBack: boolean
  /** Ends the wait for siblings. */
  collecting?: NodeJS.Timeout | undefined
}

/** Returns a function that runs a request in a batch. */
export function createBatches<Request, Result>(
  run: RunBatch<Request, Result>,
  {
    groupOf = () => '',
    subjectOf,
    limits = LIMITS,
    siblings = () => 0,
  }: BatchOptions<Request> = {},
): (request: Request) => Promise<Result> {
  const groups = new Map<string, Group<Request, Result>>()

  const startNext = (name: string, group: Group<Request, Result>): void => {
    const [first] = group.waiting
    if (group.isHeldBack || first === undefined) return
    const expected = siblings(first.request)
    const enough = expected < SIBLINGS_LEAST ? 1 : Math.min(expected / 2, limits.size)
    if (group.waiting.length >= enough) start(name, group)
    else group.collecting ??= setTimeout(() => start(name, group), COLLECT_MS)
  }

  const start = (name: string, group: Group<Request, Result>): void => {
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
    const timer = setTimeout(end, limits.patienceMs)
    const { members, apart } = separate(group.waiting.splice(0, limits.size), subjectOf)
    for (const { request, resolve } of apart) resolve(runAlone(run, request))
    void runBatch(run, members).then(end)
  }

  return (request) =>
    new Promise((resolve) => {
      const name = groupOf(request)
      const group = groups.get(name) ?? { waiting: [], isHeldBack: false }
      groups.set(name, group)
      group.waiting.push({ request, resolve })
      // After the other sockets that have become readable meanwhile.
      setImmediate(() => startNext(name, group))
    })
}

/** The first request about each subject, and the others. */
function separate<Request, Result>(
  waiting: readonly Waiting<Request, Result>[],
  subjectOf: BatchOptions<Request>['subjectOf'],
) {
  if (subjectOf === undefined) return { members: waiting, apart: [] }
  const subjects = [...Map.groupBy(waiting, ({ request }) => subjectOf(request)).values()]
  return {
    members: subjects.flatMap(([first]) => first ?? []),
    apart: subjects.flatMap(([, ...others]) => others),
  }
}

/** Resolves when the batch has ended. Its members may still be tried singly then. */
async function runBatch<Request, Result>(
  run: RunBatch<Request, Result>,
  members: readonly Waiting<Request, Result>[],
): Promise<void> {
  try {
    const results = await run(members.map(({ request }) => request))
    members.forEach(({ resolve }, index) => resolve(results[index] as Result))
  } catch (error) {
    const isAlone = members.length === 1
    for (const { request, resolve } of members) {
      resolve(isAlone ? Promise.reject(error) : runAlone(run, request))
    }
  }
}

async function runAlone<Request, Result>(
  run: RunBatch<Request, Result>,
  request: Request,
): Promise<Result> {
  const [result] = await run([request])
  return result as Result
}
