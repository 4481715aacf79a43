// Makes one run: the scenario with its faults, then recovery, then all checks. A run without faults
// counts points.
import { isDone } from '../simulate/history.ts'
import { labelOf, type Case } from './case.ts'
import { checkRecovery } from './bounds.ts'
import type { Bystander } from './bystander.ts'
import { checkEnds, checkRun, describeOutcome } from './checks.ts'
import { faultNamed } from './faults.ts'
import type { Lane } from './lane.ts'
import { isOfRole, isPreparation, type Point, type Role } from './points.ts'
import { playProvider, providerNamed } from './providers.ts'
import { readOpenKeys, untilNoJobs, untilOver, within } from './rest.ts'
import { skippedRun, type RunResult, type Violation } from './results.ts'
import { scenarioNamed, type Scenario } from './scenarios.ts'
import { Shop, UnsettledError } from './shop.ts'

export interface RunOptions {
  readonly lane: Lane
  readonly bystander: Bystander
  /** The mutant that the lane runs, if any. */
  readonly mutant?: string
  /** Aborted to stop the suite early. */
  readonly signal: AbortSignal
}

export interface Run {
  readonly result: RunResult
  /** The points that the run reached, in order. */
  readonly points: readonly Point[]
  /** The points after the last fault. */
  readonly recovery: readonly Point[]
}

/** Log lines in an error message. */
const LINES_TOLD = 10
/** Longer than the coalescing of notifications. */
const QUIET_MS = 25
/** Before the first fault the wait is longer: a point that was not counted may be reached late. */
const UNSTRUCK_QUIET_MS = 300

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
  checkPrepared(shop)
  await untilNoJobs(lane)
  const renewed = lane.processes.filter(({ role }) => needsNewConnections(run, role))
  await Promise.all(renewed.map(({ store }) => store.dropPrepared()))
  const kind = providerNamed(run.provider)
  const stage = { lane, shop, scenario, id }
  const { found, misses, returnMs, restedAt } = await playProvider(lane, kind, () =>
    perform(stage, run),
  )
  const { seen: points, seenInRecovery: recovery, struckAt, isSpent } = lane.watch
  lane.watch.end()
  await releaseAll(lane)
  const back = await within(lane.whole(), 'the restart of a process')
  const judged = await judge(lane, shop, bystander, scenario)
  const isUnprovable = ({ invariant }: Violation) => kind.unprovable.includes(invariant)
  const isSettled = shop.history.operations.every(({ answers }) => answers.length > 0)
  const struckLast = struckAt.at(-1)
  const recoveryMs =
    isSettled && struckLast !== undefined ? restedAt - Math.max(struckLast, shop.healedAt) : null
  const broken = [...found, ...checkRecovery(recoveryMs), ...back, ...judged]
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

/** @throws Error with the last log lines of the API when the preparation failed. */
function checkPrepared({ history, lane }: Shop): void {
  if (history.operations.every((operation) => isDone(operation))) return
  const said = lane.process('api').lines.slice(-LINES_TOLD).join('\n')
  throw new Error(
    `the preparation ended with ${describeOutcome(history)}. Log of the API:\n${said}`,
  )
}

interface Stage {
  readonly lane: Lane
  readonly shop: Shop
  readonly scenario: Scenario
  /** The id of what the scenario prepared. */
  readonly id: string
}

interface Performed {
  readonly found: readonly Violation[]
  /** How many faults reached their point but had no effect there. */
  readonly misses: number
  readonly returnMs: number | null
  /** When nothing of the run was open any more. */
  readonly restedAt: number
}

/** Runs the scenario with its faults until everything is idle again. */
async function perform({ lane, shop, scenario, id }: Stage, { strikes }: Case): Promise<Performed> {
  const begun: Promise<readonly Violation[]>[] = []
  const meanwhile = (work: Promise<readonly Violation[]>) => void begun.push(noted(work))
  let returnMs: number | null = null
  const returned = (ms: number) => void (returnMs = ms)
  let misses = 0
  const missed = () => void (misses += 1)
  const scene = { lane, shop, meanwhile, returned, missed, isCrowded: false }
  lane.watch.begin(strikes, ({ fault }, point) => faultNamed(fault).strike(scene, point))
  await scenario.act(shop, id, strikes).catch((error: unknown) => {
    // The checks report which operation has no answer and which invariant that breaks.
    if (!(error instanceof UnsettledError)) throw error
  })
  const settledAt = performance.now()
  const open = await readOpenKeys(lane, shop.tenant).catch(() => ['not known'])
  await Promise.all(begun)
  const ended = await within(
    Promise.all([lane.wakeStunned(), lane.dismissed()]),
    'the shutdown of a process',
  )
  const left = await untilOver(lane, shop.tenant, () =>
    lane.watch.struckAt.length === 0 ? UNSTRUCK_QUIET_MS : QUIET_MS,
  )
  const isOverSince = open.length === 0 && (lane.watch.struckAt.at(-1) ?? 0) <= settledAt
  const restedAt = isOverSince ? settledAt : performance.now()
  // Some faults are injected only after the last answer.
  const found = [...(await Promise.all(begun)).flat(), ...ended, ...left]
  return { found, misses, returnMs, restedAt }
}

/**
 * Whether the run counts points, or its first fault is at the preparation of a statement by that
 * role. A statement is prepared once per connection, and renewing connections costs as much as many
 * a run.
 */
export function needsNewConnections({ strikes: [first] }: Case, role: Role): boolean {
  return first === undefined || (isPreparation(first.point) && isOfRole(first.point, role))
}

/** Why this machine cannot make the run; undefined when it can. */
function whyNot({ options: { disk } }: Lane, { strikes }: Case): string | undefined {
  const needsDisk = strikes.some(({ fault }) => faultNamed(fault).needsDisk === true)
  return needsDisk && typeof disk === 'string' ? disk : undefined
}

/** Turns a failure of the work into a violation. */
function noted(work: Promise<readonly Violation[]>): Promise<readonly Violation[]> {
  return work.catch((error: unknown) => [{ invariant: 7, what: String(error) }])
}

/** Releases everything that faults held back, even if no process waits for it any more. */
async function releaseAll(lane: Lane): Promise<void> {
  // The stand-in answers the requests that it left unanswered.
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
  const { processes } = lane
  const lines = [...(await lane.buryRetired()), ...lane.takeLines()]
  const own = (await scenario.judge?.(shop)) ?? []
  return [...own, ...ends, ...(await checkRun(lane, shop, bystander, { lines, processes }))]
}
