// A run and its result. The label of a run is one line that names a scenario, a kind of provider and
// the faults injected at its points; `--case <label>` repeats it. The result is counted, written to
// report.json and printed.

/** @throws Error when there is none of that name. */
export function findNamed<One extends { readonly name: string }>(
  what: string,
  all: readonly One[],
  name: string,
): One {
  const found = all.find((one) => one.name === name)
  if (found !== undefined) return found
  const names = all.map((one) => `  ${one.name}`).join('\n')
  throw new Error(`unknown ${what} "${name}"; the ${what}s are\n${names}`)
}

/**
 * `<scenario>`, or `<scenario>:<fault>@<point>`, with another `+<fault>@<point>` for each further
 * fault. A provider other than the usual one follows the scenario: `<scenario>~<provider>`.
 */
export type Label = string

export interface Injection {
  /** A name in the table of faults. */
  readonly fault: string
  /** The label of the point, for example `worker/advance/CommandComplete#1/before`. */
  readonly point: string
}

export interface Case {
  /** A name in the table of scenarios. */
  readonly scenario: string
  /** A name in the table of providers; by default the idempotent one. */
  readonly provider?: string
  /** In order: each is armed when the one before was injected. Without any, points are counted. */
  readonly injections: readonly Injection[]
}

export function labelOf({ scenario, provider, injections }: Case): Label {
  const subject = provider === undefined ? scenario : `${scenario}~${provider}`
  if (injections.length === 0) return subject
  return `${subject}:${injections.map(({ fault, point }) => `${fault}@${point}`).join('+')}`
}

/** @throws Error when the text is not a label. */
export function readLabel(label: Label): Case {
  const [, scenario, provider, texts] = /^([^:~]+)(?:~([^:]+))?(?::(.+))?$/.exec(label) ?? []
  if (scenario === undefined) throw new Error(`"${label}" is not a run label`)
  const injections = (texts?.split('+') ?? []).map((text) => readInjection(text, label))
  return provider === undefined ? { scenario, injections } : { scenario, provider, injections }
}

function readInjection(text: string, label: Label): Injection {
  const [, fault, point] = /^([^@]+)@([^@]+)$/.exec(text) ?? []
  if (fault === undefined || point === undefined) {
    throw new Error(`"${label}" is not a run label: "${text}" is not <fault>@<point>`)
  }
  return { fault, point }
}

export interface ProviderKind {
  readonly name: string
  /** Whether it honours idempotency keys. */
  readonly mode: 'keep' | 'ignore'
  /** It forgets all keys this long after its last call; by default never within a run. */
  readonly keysExpireMs?: number
  /** Faults of its own, which affect the first calls of every run, in this order. */
  readonly ownFaults: readonly string[]
  /** Faults with which it would break its own promises. They are not injected. */
  readonly without: readonly string[]
  /** The settings that describe it to the service. */
  readonly settings: Readonly<Record<string, string>>
}

export const IDEMPOTENT = 'idempotent'

// prettier-ignore
export const providerKinds: readonly ProviderKind[] = [
  // Like Stripe.
  { name: IDEMPOTENT, mode: 'keep', ownFaults: [], without: [], settings: {} },
  // The service knows the time limit and repeats no call after it.
  { name: 'forgetting', mode: 'keep', keysExpireMs: 1_000, ownFaults: [], without: [],
    settings: { PROVIDER_KEY_WINDOW_SECONDS: '1' } },
  // It executes each call that reaches it. The service knows that, and repeats none that may have run.
  // It promises to execute no request after the settling time: without keys nothing else keeps a late
  // one from being executed beside the one that followed.
  { name: 'keyless', mode: 'ignore', ownFaults: [], without: ['provider-late'],
    settings: { PROVIDER_KEY_WINDOW_SECONDS: '0' } },
  // It charges without an answer, and then reports a wrong amount.
  { name: 'lying', mode: 'keep', ownFaults: ['hang_after', 'wrong_amount'], without: [], settings: {} },
]

/** @throws Error when the kind is unknown. */
export function providerNamed(name: string = IDEMPOTENT): ProviderKind {
  return findNamed('provider', providerKinds, name)
}

/**
 * A broken invariant by its number in ARCHITECTURE.md. Number 0 is an error of the suite itself.
 */
export interface Violation {
  readonly invariant: number
  readonly what: string
  /** A limit of time that a busy machine can exceed, too. */
  readonly isLate?: true
}

/** What one tenant measured alone, and beside the noise of another in the same run. */
export interface Comparison {
  readonly what: string
  readonly unit: 'ms' | 'lookups'
  readonly alone: number
  readonly beside: number
  /** The largest value beside the noise that is allowed. */
  readonly limit: number
}

export interface RunResult {
  /** The label that repeats the run with `--case`. */
  readonly case: Label
  readonly scenario: string
  /** The kind of provider. */
  readonly provider: string
  /** The fault of each injection, in order; a counting run has none. */
  readonly faults: readonly string[]
  readonly points: readonly string[]
  /** The mutant that ran in place of the product; null for the product itself. */
  readonly mutant: string | null
  /** How many of the faults were injected; for a soak, the number of its random faults. */
  readonly struck: number
  readonly violations: readonly Violation[]
  /** From the last fault until each key was terminal, or unknown with a finding; null if never. */
  readonly recoveryMs: number | null
  /** From when PostgreSQL was back until a new payment succeeded; null without an outage. */
  readonly returnMs: number | null
  /** The results of the operations, for example `201 succeeded`. */
  readonly outcome: string
  readonly durationMs: number
  /** Of a run with neighbours. */
  readonly comparisons?: readonly Comparison[]
  /** The run missed a point that depends on timing: runs without a fault miss it, too. */
  readonly isByChance?: boolean
  /** Why this machine cannot make the run, which neither passed nor failed. */
  readonly skipped?: string
}

/** `missed`: nothing broke, but not all faults were injected; `skipped`: not possible here. */
type RunVerdict = 'passed' | 'missed' | 'skipped' | 'failed'

/**
 * A run passes when every fault was injected and no invariant broke. A run without any of its
 * faults is an error of the suite and fails. A run that had its first fault but not one during the
 * recovery recovered in another way this time: it failed nothing and proves nothing. Neither does one that
 * missed a point which depends on timing.
 */
export function verdictOf(result: RunResult): RunVerdict {
  const { violations, struck, faults, skipped, isByChance = false } = result
  if (skipped !== undefined) return 'skipped'
  if (violations.length > 0) return 'failed'
  if (struck >= faults.length) return 'passed'
  return struck === 0 && !isByChance ? 'failed' : 'missed'
}

export function hasPassed(result: RunResult): boolean {
  return verdictOf(result) === 'passed'
}

export function isMissed(result: RunResult): boolean {
  return verdictOf(result) === 'missed'
}

export function hasFailed(result: RunResult): boolean {
  return verdictOf(result) === 'failed'
}

/** Whether this machine cannot make the run, which is no failure. */
export function isSkipped(result: RunResult): boolean {
  return verdictOf(result) === 'skipped'
}

/** Whether a fault was not injected, and may be when the run is repeated. */
export function shouldRepeat({ violations, struck, faults, skipped }: RunResult): boolean {
  return skipped === undefined && struck < faults.length && violations.length === 0
}

/**
 * A run that the suite could not make. No invariant broke, but the run proves nothing and fails.
 */
export function brokenRun(
  run: Case,
  mutant: string | undefined,
  what: string,
  durationMs: number,
): RunResult {
  const violations = [{ invariant: 0, what }]
  const outcome = 'the run could not be made'
  return { ...emptyResult(run, mutant), violations, outcome, durationMs }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** Whether a run broke limits of time and nothing else. */
export function isOnlyLate({ violations }: RunResult): boolean {
  return violations.length > 0 && violations.every(({ isLate }) => isLate)
}

/** Invariant 7 limits the time of recovery, and 0 is an error of the suite, such as no answer in time. */
const OF_TIME: readonly number[] = [0, 7]

/** Whether a machine that stood still can have failed the run. */
export function mayBeStalled({ violations }: RunResult): boolean {
  return violations.every(({ invariant }) => OF_TIME.includes(invariant))
}

/** A run that is not possible on this machine. */
export function skippedRun(run: Case, mutant: string | undefined, why: string): RunResult {
  return { ...emptyResult(run, mutant), outcome: 'skipped', skipped: why }
}

/** The result of a run in which nothing has happened yet. */
export function emptyResult(run: Case, mutant: string | undefined): RunResult {
  const { scenario, provider = IDEMPOTENT, injections } = run
  return {
    case: labelOf(run),
    scenario,
    provider,
    faults: injections.map(({ fault }) => fault),
    points: injections.map(({ point }) => point),
    mutant: mutant ?? null,
    struck: 0,
    violations: [],
    recoveryMs: null,
    returnMs: null,
    outcome: '',
    durationMs: 0,
  }
}

export function showComparison({ what, unit, alone, beside, limit }: Comparison): string {
  const [one, other, most] = [alone, beside, limit].map((number) => `${Math.round(number)} ${unit}`)
  const ratio = unit === 'ms' ? ` (${(beside / alone).toFixed(2)} times)` : ''
  return `${what}: ${one} alone, ${other} beside its neighbour${ratio}; the limit is ${most}`
}

/** How long recovery may take after the last fault: the limit of invariant 7. */
export const RECOVERY_LIMIT_SECONDS = 30
export const RECOVERY_LIMIT_MS = RECOVERY_LIMIT_SECONDS * 1_000

/** From when the server accepts connections until a payment begun then has succeeded. */
export const RETURN_LIMIT_MS = 2_000

/**
 * @param ms from the last fault to the last final answer; null: never, which other checks report.
 */
export function checkRecovery(ms: number | null): Violation[] {
  if (ms === null || ms <= RECOVERY_LIMIT_MS) return []
  const what = `recovery took ${Math.round(ms)} ms; the limit is ${RECOVERY_LIMIT_SECONDS} s`
  return [{ invariant: 7, what }]
}

/** @param isConcurrent in a soak, whose payments wait for the work that the outage has delayed. */
export function checkReturn(ms: number, isConcurrent: boolean): Violation[] {
  if (ms <= (isConcurrent ? RECOVERY_LIMIT_MS : RETURN_LIMIT_MS)) return []
  const what = `the first payment after the outage took ${Math.round(ms)} ms`
  return [{ invariant: 7, what, isLate: true }]
}
