// Makes one run: the scenario with its faults, then recovery, then all checks. A run without faults
// counts points.
import { isDone } from '../simulate/history.ts'
import { isConcurrent, labelOf, type Case } from './case.ts'
import { checkRecovery } from './bounds.ts'
import type { Bystander } from './bystander.ts'
import { checkEnds, checkRun, describeOutcome } from './checks.ts'
import { faultNamed } from './faults.ts'
import { releaseAll, startInjecting } from './injecting.ts'
import type { Lane } from './lane.ts'
import { withOperator } from './operator.ts'
import { belongsToRole, isPreparation, type Point, type Role } from './points.ts'
import { providerNamed } from './providers.ts'
import { readOpenKeys, untilNoJobs, untilRunOver, within } from './run-end.ts'
import { skippedRun, type RunResult, type Violation } from './results.ts'
import type { Scenario } from './scenario.ts'
import { scenarioNamed } from './scenarios.ts'
import { Merchant, NoFinalAnswerError } from './merchant.ts'
import { withProvider } from './with-provider.ts'

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

/** Of the thousands of requests of a neighbour, so many are repeated. */
const REPLAYED = 200
/** Log lines in an error message. */
const LINES_SHOWN = 10
/** Many times the longest run. A scenario that waits for ever must not hold up the suite. */
const RUN_LIMIT_MS = 300_000
/** Longer than the coalescing of notifications. */
const QUIET_MS = 25
/** Before the first fault the wait is longer: a point that was not counted may be reached late. */
const QUIET_BEFORE_FAULT_MS = 300

export async function runCase(
  { lane, bystander, mutant, signal }: RunOptions,
  run: Case,
): Promise<Run> {
  const startedAt = performance.now()
  const why = findSkipReason(lane, run)
  if (why !== undefined) return { result: skippedRun(run, mutant, why), points: [], recovery: [] }
  const scenario = scenarioNamed(run.scenario)
  const limited = AbortSignal.any([signal, AbortSignal.timeout(RUN_LIMIT_MS)])
  const merchant = new Merchant(lane, await lane.createTenant(), limited)
  const id = (await scenario.prepare?.(merchant)) ?? ''
  checkPrepared(merchant)
  await untilNoJobs(lane)
  const renewed = lane.processes.filter(({ role }) => needsNewConnections(run, role))
  await Promise.all(renewed.map(({ store }) => store.dropPrepared()))
  const kind = providerNamed(run.provider)
  const stage = { lane, merchant, scenario, id }
  const { violations, misses, returnMs, idleAt } = await withProvider(lane, kind, () =>
    withOperator(lane, merchant.tenant, () => perform(stage, run)),
  )
  const { points, pointsInRecovery: recovery, injectedAt, isComplete } = lane.watch
  lane.watch.end()
  await releaseAll(lane)
  const restarts = await within(lane.untilWhole(), 'the restart of a process')
  const checked = await checkEverything(lane, merchant, bystander, scenario)
  const isAnswered = merchant.history.operations.every(({ answers }) => answers.length > 0)
  const lastFaultAt = injectedAt.at(-1)
  const recoveryMs =
    isAnswered && lastFaultAt !== undefined
      ? idleAt - Math.max(lastFaultAt, merchant.healedAt)
      : null
  const result: RunResult = {
    case: labelOf(run),
    scenario: run.scenario,
    provider: kind.name,
    faults: run.injections.map(({ fault }) => fault),
    points: run.injections.map(({ point }) => point),
    mutant: mutant ?? null,
    struck: (isComplete ? run.injections.length : injectedAt.length) - misses,
    violations: [...violations, ...checkRecovery(recoveryMs), ...restarts, ...checked],
    recoveryMs,
    returnMs,
    outcome: describeOutcome(merchant.history),
    durationMs: performance.now() - startedAt,
    ...(merchant.comparisons.length > 0 && { comparisons: merchant.comparisons }),
  }
  return { result, points, recovery }
}

/** @throws Error with the last log lines of the API when the preparation failed. */
function checkPrepared({ history, lane }: Merchant): void {
  if (history.operations.every((operation) => isDone(operation))) return
  const log = lane.process('api').lines.slice(-LINES_SHOWN).join('\n')
  throw new Error(`the preparation ended with ${describeOutcome(history)}. Log of the API:\n${log}`)
}

interface Stage {
  readonly lane: Lane
  readonly merchant: Merchant
  readonly scenario: Scenario
  /** The id of what the scenario prepared. */
  readonly id: string
}

interface ScenarioRun {
  readonly violations: readonly Violation[]
  /** How many faults reached their point but had no effect there. */
  readonly misses: number
  readonly returnMs: number | null
  /** When nothing of the run was open any more. */
  readonly idleAt: number
}

/** Runs the scenario with its faults until everything is idle again. */
async function perform(
  { lane, merchant, scenario, id }: Stage,
  { injections }: Case,
): Promise<ScenarioRun> {
  const faults = startInjecting(
    { lane, merchant, isConcurrent: isConcurrent(scenario.name) },
    injections,
  )
  await scenario.act(merchant, id, injections).catch((error: unknown) => {
    // The checks report which operation has no answer and which invariant that breaks.
    if (!(error instanceof NoFinalAnswerError)) throw error
  })
  const answeredAt = performance.now()
  const open = await readOpenKeys(lane, merchant.tenant).catch(() => ['not known'])
  await faults.untilWorkDone()
  const ended = await within(
    Promise.all([lane.resumeSuspended(), lane.untilTerminated()]),
    'the shutdown of a process',
  )
  const left = await untilRunOver(lane, merchant.tenant, () =>
    lane.watch.injectedAt.length === 0 ? QUIET_BEFORE_FAULT_MS : QUIET_MS,
  )
  const wasIdle = open.length === 0 && (lane.watch.injectedAt.at(-1) ?? 0) <= answeredAt
  const idleAt = wasIdle ? answeredAt : performance.now()
  // Some faults are injected only after the last answer.
  const violations = [...(await faults.untilWorkDone()), ...ended, ...left]
  const { misses, returnMs } = faults
  return { violations, misses, returnMs, idleAt }
}

/**
 * Whether the run counts points, or its first fault is at the preparation of a statement by that
 * role. A statement is prepared once per connection, and renewing connections costs as much as many
 * a run.
 */
export function needsNewConnections({ injections: [first] }: Case, role: Role): boolean {
  return first === undefined || (isPreparation(first.point) && belongsToRole(first.point, role))
}

/** Why this machine cannot make the run; undefined when it can. */
function findSkipReason({ options: { disk } }: Lane, { injections }: Case): string | undefined {
  const needsDisk = injections.some(({ fault }) => faultNamed(fault).needsDisk === true)
  return needsDisk && typeof disk === 'string' ? disk : undefined
}

async function checkEverything(
  lane: Lane,
  merchant: Merchant,
  bystander: Bystander,
  scenario: Scenario,
): Promise<Violation[]> {
  await merchant.replay()
  for (const one of merchant.neighbours) await one.replay(REPLAYED)
  const all = [merchant, ...merchant.neighbours]
  const ends = checkEnds(lane.takeUnexpectedExits())
  const { processes } = lane
  const lines = [...(await lane.removeReplaced()), ...lane.takeLines()]
  const found = [...((await scenario.check?.(merchant)) ?? []), ...ends]
  const evidence = { lines, processes, isConcurrent: isConcurrent(scenario.name) }
  for (const one of all) found.push(...(await checkRun(lane, one, bystander, evidence)))
  return found
}
