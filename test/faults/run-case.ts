// One run: the scenario with its strikes, then recovery, then every check. A run without strikes counts points.
import { setTimeout as wait } from 'node:timers/promises'
import { labelOf, type Case } from './case.ts'
import { checkRecovery } from './bounds.ts'
import type { Bystander } from './bystander.ts'
import { checkEnds, checkRun, describeOutcome } from './checks.ts'
import { faultNamed } from './faults.ts'
import { countJobs, expireJobs, hastenEvents } from './lane-jobs.ts'
import type { Lane } from './lane.ts'
import { isOfRole, isPreparation, type Point, type Role } from './points.ts'
import { playProvider, providerNamed } from './providers.ts'
import { skippedRun, type RunResult, type Violation } from './results.ts'
import { scenarioNamed, type Scenario } from './scenarios.ts'
import { Shop, UnsettledError } from './shop.ts'

export interface RunOptions {
  readonly lane: Lane
  readonly bystander: Bystander
  /** The name of the mutant that the lane runs, if it does. */
  readonly mutant?: string
  /** Aborted when nobody wants to know any more. */
  readonly signal: AbortSignal
}

export interface Run {
  readonly result: RunResult
  /** Those that it has come to, in their order. */
  readonly points: readonly Point[]
  /** Those after its last strike. */
  readonly recovery: readonly Point[]
}

/** Long enough for what follows an answer: the job that is settled, and the next poll. */
const TAIL_LIMIT_MS = 6_000
const POLL_MS = 10
/** Each look at the jobs is three statements. */
const JOBS_POLL_MS = 40
/** Announcements are bundled for less. */
const QUIET_MS = 25
/** What was not counted is never struck, so that a counting run takes its time. */
const COUNTED_QUIET_MS = 300

export async function runCase(
  { lane, bystander, mutant, signal }: RunOptions,
  run: Case,
): Promise<Run> {
  const startedAt = performance.now()
  const why = whyNot(lane, run)
  if (why !== undefined) return { result: skippedRun(run, mutant, why), points: [], recovery: [] }
  const scenario = scenarioNamed(run.scenario)
  const shop = new Shop(lane, await lane.createTenant(), signal)
  const id = (await scenario.prepare?.(shop)) ?? ''
  await untilQuiet(lane)
  const renewed = lane.processes.filter(({ role }) => needsNewConnections(run, role))
  await Promise.all(renewed.map(({ store }) => store.dropPrepared()))
  const begun: Promise<readonly Violation[]>[] = []
  const meanwhile = (work: Promise<readonly Violation[]>) => void begun.push(noted(work))
  const kind = providerNamed(run.provider)
  const endProvider = await playProvider(lane, kind)
  let returnMs: number | null = null
  const returned = (ms: number) => void (returnMs = ms)
  let misses = 0
  const missed = () => void (misses += 1)
  const scene = { lane, shop, meanwhile, returned, missed }
  lane.watch.begin(run.strikes, ({ fault }, point) => faultNamed(fault).strike(scene, point))
  await scenario.act(shop, id, run.strikes).catch((error: unknown) => {
    // The checks say which operation, and what that breaks.
    if (!(error instanceof UnsettledError)) throw error
  })
  const settledAt = performance.now()
  await Promise.all(begun)
  await Promise.all([lane.wakeStunned(), lane.dismissed()])
  await untilOver(lane, run.strikes.length === 0 ? COUNTED_QUIET_MS : QUIET_MS)
  // Some strike only now.
  const found = (await Promise.all(begun)).flat()
  const { seen: points, seenInRecovery: recovery, struckAt, isSpent } = lane.watch
  lane.watch.end()
  await endProvider()
  await releaseAll(lane)
  await lane.whole()
  const judged = await judge(lane, shop, bystander, scenario)
  const isUnprovable = ({ invariant }: Violation) => kind.unprovable.includes(invariant)
  const isSettled = shop.history.operations.every(({ answers }) => answers.length > 0)
  const lastStruckAt = struckAt.at(-1)
  const recoveryMs =
    isSettled && lastStruckAt !== undefined ? Math.max(0, settledAt - lastStruckAt) : null
  const broken = [...found, ...checkRecovery(recoveryMs), ...judged]
  const result: RunResult = {
    case: labelOf(run),
    scenario: run.scenario,
    provider: kind.name,
    faults: run.strikes.map(({ fault }) => fault),
    points: run.strikes.map(({ point }) => point),
    mutant: mutant ?? null,
    struck: (isSpent ? run.strikes.length : struckAt.length) - misses,
    violations: broken.filter((violation) => !isUnprovable(violation)),
    unprovable: broken.filter(isUnprovable),
    recoveryMs,
    returnMs,
    outcome: describeOutcome(shop.history),
    durationMs: performance.now() - startedAt,
  }
  return { result, points, recovery }
}

/**
 * Whether the first strike hits what a connection of that role says once. Making them anew costs as much as many
 * a run.
 */
export function needsNewConnections({ strikes: [first] }: Case, role: Role): boolean {
  return first === undefined || (isPreparation(first.point) && isOfRole(first.point, role))
}

/** Why the run cannot be made on this machine; undefined when it can. */
function whyNot({ options: { disk } }: Lane, { strikes }: Case): string | undefined {
  const needsDisk = strikes.some(({ fault }) => faultNamed(fault).needsDisk === true)
  return needsDisk && typeof disk === 'string' ? disk : undefined
}

/** What it cannot do is found, like what it finds. */
function noted(work: Promise<readonly Violation[]>): Promise<readonly Violation[]> {
  return work.catch((error: unknown) => [{ invariant: 7, what: String(error) }])
}

/** What a strike has kept back goes on, whether or not anybody still waits for it. */
async function releaseAll(lane: Lane): Promise<void> {
  // What the provider never answers, it answers now.
  await lane.provider.removeFaults()
  for (const { store, provider } of lane.processes) {
    store.dropStalled()
    provider.dropStalled()
    await provider.releaseHeld()
  }
}

async function judge(
  lane: Lane,
  shop: Shop,
  bystander: Bystander,
  scenario: Scenario,
): Promise<Violation[]> {
  await shop.replay()
  const ends = checkEnds(lane.takeUnaskedEnds())
  const said = [...(await lane.buryRetired()), ...lane.takeLines()]
  const own = (await scenario.judge?.(shop)) ?? []
  return [...own, ...ends, ...(await checkRun(lane, shop, bystander, said))]
}

/** What follows the answer belongs to the run: a strike may wait there, and the next run is to find nothing. */
async function untilOver(lane: Lane, quietMs: number): Promise<void> {
  const endsAt = performance.now() + TAIL_LIMIT_MS
  while (performance.now() < endsAt) {
    await lane.whole()
    if (lane.watch.quietMs <= quietMs) {
      await wait(POLL_MS)
    } else {
      // While the store is away nothing is known.
      if (await hasNoJobs(lane).catch(() => false)) return
      await wait(JOBS_POLL_MS)
    }
  }
}

/** Those that there are come next. */
async function hasNoJobs(lane: Lane): Promise<boolean> {
  if ((await countJobs(lane)) === 0) return true
  await Promise.all([expireJobs(lane), hastenEvents(lane)])
  return false
}

async function untilQuiet(lane: Lane): Promise<void> {
  while ((await countJobs(lane)) > 0) await wait(POLL_MS)
}
