// Makes one run: the scenario with its faults, then recovery, then all checks. A run without faults
// counts points. The run is over when both processes work, every key is terminal or waits for a
// person, and no job is left. If that takes too long, invariant 7 is broken and the suite goes on.
import { setTimeout as wait } from 'node:timers/promises'
import { randomUUID } from 'node:crypto'
import { requestCheckIfUnknown } from '../../src/db/operations/requested-checks.ts'
import { isDone } from '../simulate/history.ts'
import type { Lane, LaneTenant } from './lane.ts'
import type { Case, ProviderKind, RunResult, Violation } from './results.ts'
import {
  brokenRun,
  checkRecovery,
  emptyResult,
  messageOf,
  providerNamed,
  RECOVERY_LIMIT_MS,
  RECOVERY_LIMIT_SECONDS,
  skippedRun,
} from './results.ts'
import { countJobs, makeEventsDue, redeliverJobs } from './lane-jobs.ts'
import { poll } from './poll.ts'
import type { Bystander } from './bystander.ts'
import { checkEnds, checkRun, describeOutcome } from './checks.ts'
import { faultNamed, releaseAll, startInjecting } from './faults.ts'
import { belongsToRole, isPreparation, type Point, type Role } from './points.ts'
import type { Scenario } from './scenario.ts'
import { scenarioNamed } from './scenarios.ts'
import { Merchant, NoFinalAnswerError } from './merchant.ts'

/** Lets something act beside the work, until its end. */
async function during<Result>(
  act: (over: AbortSignal) => Promise<void>,
  work: () => Promise<Result>,
): Promise<Result> {
  const over = new AbortController()
  const acting = act(over.signal)
  // Awaited in `finally`.
  acting.catch(() => {})
  try {
    return await work()
  } finally {
    over.abort()
    await acting
  }
}

/** Makes the lane's provider behave as that kind while the work runs. */
async function withProvider<Result>(
  lane: Lane,
  { mode, ownFaults, keysExpireMs }: ProviderKind,
  work: () => Promise<Result>,
): Promise<Result> {
  for (const fault of ownFaults) {
    await lane.provider.plantFault({ match: { method: 'POST' }, fault, times: 1 })
  }
  if (keysExpireMs !== undefined) {
    return await during((over) => forgetAfter(lane, keysExpireMs, over), work)
  }
  // The mode is left alone otherwise: a scenario may have set another one.
  if (mode === 'keep') return await work()
  await setMode(lane, mode)
  try {
    return await work()
  } finally {
    await setMode(lane, 'keep')
  }
}

const KEYS_POLL_MS = 20

async function forgetAfter(lane: Lane, ms: number, over: AbortSignal): Promise<void> {
  let forgottenAt = performance.now()
  while (!over.aborted) {
    const calls = lane.processes.map(({ provider }) => provider.requests.at(-1)?.at ?? 0)
    const last = Math.max(...calls)
    if (last > forgottenAt && performance.now() - last > ms) {
      forgottenAt = performance.now()
      await setMode(lane, 'forget')
      await setMode(lane, 'keep')
    }
    await wait(KEYS_POLL_MS)
  }
}

async function setMode({ provider }: Lane, mode: 'keep' | 'forget' | 'ignore'): Promise<void> {
  await provider.control('POST', 'idempotency', { mode })
}

const OPERATOR_POLL_MS = 500

/** No call of a run is executed or completed later. */
const SETTLE_MS = 3_000

const CLAIM = {
  claim: randomUUID(),
  proved_absent: true,
  by: 'operator',
  note: 'I did not see it',
} as const

/**
 * The operator of a run says what the service cannot prove, while the work runs. A refund whose failure
 * the provider keeps, or whose key it may have forgotten, may still be completed at any time. It stays
 * unknown until an operator says that it did not happen. This operator always says so and never looks:
 * the service must.
 */
export async function withOperator<Result>(
  lane: Lane,
  tenant: LaneTenant,
  work: () => Promise<Result>,
): Promise<Result> {
  return await during(async (over) => {
    while (!over.aborted) {
      // The store may be away; the operator tries again.
      await denyRefunds(lane, tenant).catch(() => {})
      await wait(OPERATOR_POLL_MS, undefined, { signal: over }).catch(() => {})
    }
  }, work)
}

async function denyRefunds({ owner: { sql } }: Lane, tenant: LaneTenant): Promise<void> {
  const unknown = await sql<{ id: string }[]>`
    select id from idempotency_keys
    where tenant_id = ${tenant.id} and status = 'unknown'
      and refund_id is not null and evidence is null
      and unknown_at < now() - ${SETTLE_MS} * interval '1 millisecond'
  `
  for (const { id } of unknown) await requestCheckIfUnknown(sql, { tenantId: tenant.id, id }, CLAIM)
}

const POLL_MS = 10
/** Each look takes four statements. */
const STATE_POLL_MS = 40

/** Descriptions of what is not over. */
type Descriptions = readonly string[]

/** Finds keys that are neither terminal nor unknown with an open finding. */
async function readOpenKeys({ owner: { sql } }: Lane, { id }: LaneTenant): Promise<Descriptions> {
  const rows = await sql<{ operation: string; status: string; reached: string }[]>`
    select operation, status, recovery_point as reached from idempotency_keys as key
    where tenant_id = ${id} and status in ('pending', 'processing', 'unknown') and not (
      status = 'unknown' and exists (
        select from reconciliation_findings
        where operation_id = key.id and tenant_id = key.tenant_id and status = 'open'
      )
    )
  `
  return rows.map(({ operation, status, reached }) => `${operation} is ${status} at ${reached}`)
}

/**
 * Waits until the run is over. Work after the answer belongs to the run as well: a fault may be
 * injected there, and the next run must start without leftovers.
 *
 * @param quietMs how long no point must have been reached; called each time.
 */
async function untilRunOver(
  lane: Lane,
  tenant: LaneTenant,
  quietMs: () => number,
): Promise<readonly Violation[]> {
  const endsAt = performance.now() + RECOVERY_LIMIT_MS
  let open: Descriptions = ['a process']
  while (performance.now() < endsAt) {
    if (!lane.isWhole || lane.watch.quietMs <= quietMs()) {
      await wait(POLL_MS)
    } else {
      // While the store is away nothing is known.
      open = await findOpen(lane, tenant).catch((error: unknown) => [String(error)])
      if (open.length === 0) return []
      await wait(STATE_POLL_MS)
    }
  }
  return [tooLong(open.join(', '))]
}

/** Makes the remaining jobs due at once. */
async function findOpen(lane: Lane, tenant: LaneTenant): Promise<Descriptions> {
  const jobs = await countJobs(lane)
  if (jobs > 0) await Promise.all([redeliverJobs(lane), makeEventsDue(lane)])
  const keys = await readOpenKeys(lane, tenant)
  return jobs > 0 ? [...keys, `${jobs} jobs`] : keys
}

/** @throws Error when an earlier run left jobs that do not complete. */
async function untilNoJobs(lane: Lane): Promise<void> {
  const areDone = async () => (await countJobs(lane)) === 0
  if (await poll(RECOVERY_LIMIT_MS, areDone, { pauseMs: POLL_MS })) return
  throw new Error('jobs of an earlier run are still open')
}

/** @param what describes the work, for example `the shutdown of a process`. */
async function within(work: Promise<unknown>, what: string): Promise<readonly Violation[]> {
  const over = new AbortController()
  const late = wait(RECOVERY_LIMIT_MS, [tooLong(what)], { signal: over.signal })
  late.catch(() => {})
  try {
    return await Promise.race([work.then((): readonly Violation[] => []), late])
  } finally {
    over.abort()
  }
}

function tooLong(what: string): Violation {
  return { invariant: 7, what: `still open after ${RECOVERY_LIMIT_SECONDS} s: ${what}` }
}

interface RunOptions {
  readonly lane: Lane
  readonly bystander: Bystander
  /** The mutant that the lane runs, if any. */
  readonly mutant?: string | undefined
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
  const { violations, misses, returnMs, idleAt } = await withProvider(lane, kind, () =>
    withOperator(lane, merchant.tenant, () => perform(merchant, scenario, id, run)),
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
    ...emptyResult(run, mutant),
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

/** A run that cannot be made at all is a broken one. */
export async function orBroken(
  run: Case,
  mutant: string | undefined,
  make: () => Promise<Run>,
): Promise<Run> {
  const startedAt = performance.now()
  try {
    return await make()
  } catch (error) {
    const result = brokenRun(run, mutant, messageOf(error), performance.now() - startedAt)
    return { points: [], recovery: [], result }
  }
}

/** @throws Error with the last log lines of the API when the preparation failed. */
function checkPrepared({ history, lane }: Merchant): void {
  if (history.operations.every((operation) => isDone(operation))) return
  const log = lane.process('api').lines.slice(-LINES_SHOWN).join('\n')
  throw new Error(`the preparation ended with ${describeOutcome(history)}. Log of the API:\n${log}`)
}

/** Runs the scenario with its faults until everything is idle again. */
async function perform(merchant: Merchant, scenario: Scenario, id: string, { injections }: Case) {
  const { lane, tenant } = merchant
  const { isConcurrent = false } = scenario
  const faults = startInjecting({ lane, merchant, isConcurrent }, injections)
  await scenario.act(merchant, id, injections).catch((error: unknown) => {
    // The checks report which operation has no answer and which invariant that breaks.
    if (!(error instanceof NoFinalAnswerError)) throw error
  })
  const answeredAt = performance.now()
  const open = await readOpenKeys(lane, tenant).catch(() => ['not known'])
  await faults.untilWorkDone()
  const endings = Promise.all([lane.resumeSuspended(), lane.untilTerminated()])
  const ended = await within(endings, 'the shutdown of a process')
  const left = await untilRunOver(lane, tenant, () =>
    lane.watch.injectedAt.length === 0 ? QUIET_BEFORE_FAULT_MS : QUIET_MS,
  )
  const wasIdle = open.length === 0 && (lane.watch.injectedAt.at(-1) ?? 0) <= answeredAt
  return {
    /** When nothing of the run was open any more. */
    idleAt: wasIdle ? answeredAt : performance.now(),
    // Some faults are injected only after the last answer.
    violations: [...(await faults.untilWorkDone()), ...ended, ...left],
    /** How many faults reached their point but had no effect there. */
    misses: faults.misses,
    returnMs: faults.returnMs,
  }
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

/** @param isConcurrent whether several operations may have been in progress. */
export async function checkEverything(
  lane: Lane,
  merchant: Merchant,
  bystander: Bystander,
  { check, isConcurrent }: Pick<Scenario, 'check' | 'isConcurrent'>,
): Promise<Violation[]> {
  await merchant.replay()
  for (const one of merchant.neighbours) await one.replay(REPLAYED)
  const all = [merchant, ...merchant.neighbours]
  const ends = checkEnds(lane.takeUnexpectedExits())
  const { processes } = lane
  const lines = [...(await lane.removeReplaced()), ...lane.takeLines()]
  const found = [...((await check?.(merchant)) ?? []), ...ends]
  const evidence = { lines, processes, isConcurrent: isConcurrent === true }
  for (const one of all) found.push(...(await checkRun(lane, one, bystander, evidence)))
  return found
}
