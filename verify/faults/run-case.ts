// One run: the scenario with its strikes, then recovery, then every check. A run without strikes counts points.
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

/** Of a log, for whoever has to find out why. */
const LINES_TOLD = 10
/** Announcements are bundled for less. */
const QUIET_MS = 25
/** What was not counted is never struck, and what comes too late neither: until it is struck, a run takes its time. */
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
  const back = await within(lane.whole(), 'a process that has to work again')
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

/** @throws Error with what the API has said last, when what the run works on could not be made. */
function checkPrepared({ history, lane }: Shop): void {
  if (history.operations.every((operation) => isDone(operation))) return
  const said = lane.process('api').lines.slice(-LINES_TOLD).join('\n')
  throw new Error(`the preparation was answered ${describeOutcome(history)}. The API:\n${said}`)
}

interface Stage {
  readonly lane: Lane
  readonly shop: Shop
  readonly scenario: Scenario
  /** Of what the scenario has prepared. */
  readonly id: string
}

interface Performed {
  readonly found: readonly Violation[]
  /** How many strikes have not brought about what they are to. */
  readonly misses: number
  readonly returnMs: number | null
  /** When nothing of the run was open any more. */
  readonly restedAt: number
}

/** The scenario under its strikes, until everything is at rest again. */
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
    // The checks say which operation, and what that breaks.
    if (!(error instanceof UnsettledError)) throw error
  })
  const settledAt = performance.now()
  const open = await readOpenKeys(lane, shop.tenant).catch(() => ['not known'])
  await Promise.all(begun)
  const ended = await within(
    Promise.all([lane.wakeStunned(), lane.dismissed()]),
    'a process that was told to stop',
  )
  const left = await untilOver(lane, shop.tenant, () =>
    lane.watch.struckAt.length === 0 ? UNSTRUCK_QUIET_MS : QUIET_MS,
  )
  const isOverSince = open.length === 0 && (lane.watch.struckAt.at(-1) ?? 0) <= settledAt
  const restedAt = isOverSince ? settledAt : performance.now()
  // Some strike only now.
  const found = [...(await Promise.all(begun)).flat(), ...ended, ...left]
  return { found, misses, returnMs, restedAt }
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
  const { processes } = lane
  const lines = [...(await lane.buryRetired()), ...lane.takeLines()]
  const own = (await scenario.judge?.(shop)) ?? []
  return [...own, ...ends, ...(await checkRun(lane, shop, bystander, { lines, processes }))]
}
