// Runs the fuzz suite in batches: the corpus, random bad requests, then random requests that may be
// valid. Batches of bad requests must have no side effects. A valid payment at the end proves that
// side effects are detected.
import * as fc from 'fast-check'
import type { Progress } from '../../bench/progress.ts'
import { badCases, openCases } from './cases.ts'
import { corpus } from './corpus/corpus.ts'
import { patientPayment } from './corpus/requests.ts'
import { type Case, encodeCase } from './draft.ts'
import { judge } from './judge.ts'
import { isRefused } from './defects/fields.ts'
import { operationNamed } from './operations.ts'
import { type Result, sendAll, sendOne } from './connection.ts'
import { type Failure, type Outcome, Statistics } from './report.ts'
import type { Snapshot, TestBed } from './side-effects.ts'
import { bisect, findSideEffects, waitUntilIdle } from './side-effects.ts'

export interface RunOptions {
  /** Number of random requests, in addition to the corpus. */
  readonly requests: number
  readonly seed: number
  /** The only case to send, if set. */
  readonly only?: Case | undefined
}

/** Number of requests between two checks for side effects. */
const BATCH = 2_000

/** Share of the random requests that may be valid. */
const OPEN_SHARE = 0.1

/** The run stops after this many failures, because shrinking each takes time. */
const FAILURES_MAX = 10
const SHRINK_LIMIT_MS = 20_000
const SHRINK_RUNS = 1

export async function runFuzz(
  place: TestBed,
  options: RunOptions,
  progress: Progress,
  signal: AbortSignal,
): Promise<Outcome> {
  place.subject.log.setSecrets(place.fixtures.secrets)
  const run = new Run(place, options.seed, signal)
  if (options.only !== undefined) {
    await run.sendBatch([options.only], undefined)
    return run.outcome()
  }
  const open = Math.floor(options.requests * OPEN_SHARE)
  const bad = options.requests - open
  const onProgress = progress.begin('Requests', corpus.length + options.requests)
  await run.sendBatch(corpus, undefined, onProgress)
  for (let sent = 0; sent < bad && !run.isStopped; sent += BATCH) {
    await run.sendDrawn('bad', Math.min(BATCH, bad - sent), onProgress)
  }
  for (let sent = 0; sent < open && !run.isStopped; sent += BATCH) {
    await run.sendDrawn('open', Math.min(BATCH, open - sent), onProgress)
  }
  if (!run.isStopped) await run.checkDetection()
  return run.outcome()
}

/** How a batch was drawn, so that one of its cases can be drawn again. */
interface Drawing {
  readonly kind: 'bad' | 'open'
  readonly seed: number
}

class Run {
  readonly #place: TestBed
  readonly #seed: number
  readonly #signal: AbortSignal
  readonly #statistics = new Statistics()
  readonly #failures: Failure[] = []
  #failed = 0
  #batches = 0
  /** The last snapshot, as long as no request was sent after it. */
  #snapshot: Snapshot | undefined

  constructor(place: TestBed, seed: number, signal: AbortSignal) {
    this.#place = place
    this.#seed = seed
    this.#signal = signal
  }

  /** Whether the run was interrupted or has enough failures. */
  get isStopped(): boolean {
    return this.#signal.aborted || this.#failures.length >= FAILURES_MAX
  }

  outcome(): Outcome {
    const failed = this.#failed
    const passed = Math.max(0, this.#statistics.sent - failed)
    return { passed, failed, failures: this.#failures, statistics: this.#statistics }
  }

  async sendDrawn(
    kind: Drawing['kind'],
    size: number,
    onProgress: (done: number) => void,
  ): Promise<void> {
    this.#batches += 1
    const drawing = { kind, seed: this.#seed + this.#batches }
    const cases = fc.sample(kind === 'bad' ? badCases : openCases, {
      seed: drawing.seed,
      numRuns: size,
    })
    await this.sendBatch(cases, drawing, onProgress)
  }

  /**
   * Sends the cases, checks each answer, then checks the batch for side effects and forbidden log
   * lines.
   */
  async sendBatch(
    cases: readonly Case[],
    drawing: Drawing | undefined,
    onProgress: (done: number) => void = () => {},
  ): Promise<void> {
    const { subject } = this.#place
    const before = this.#snapshot ?? (await waitUntilIdle(subject))
    this.#snapshot = undefined
    const sent = this.#statistics.sent
    const results = await this.#send(cases, (done) => onProgress(sent + done))
    for (const [index, one] of cases.entries()) {
      const result = results[index]
      if (result === undefined) throw new Error('a request has no result')
      this.#statistics.count(one, result)
      const violations = this.#judge(one, result)
      if (violations.length > 0) await this.#recordBadAnswer(one, violations, drawing, index)
    }
    if (drawing?.kind !== 'open') await this.#checkSideEffects(cases, before)
    const logViolations = subject.log.violations.splice(0)
    if (logViolations.length > 0)
      this.#countFailure({ label: 'the log', violations: logViolations, line: undefined })
  }

  /**
   * Checks that the side effects of a valid payment are detected. Otherwise the other checks prove
   * nothing.
   */
  async checkDetection(): Promise<void> {
    const { subject } = this.#place
    const before = await waitUntilIdle(subject)
    const label = 'a valid payment, whose side effects must be detected'
    const [result] = await this.#send([{ label, draft: patientPayment(), types: [] }])
    const { sideEffects } = await findSideEffects(subject, before)
    const status = result instanceof Error ? result.message : result?.status
    const missing = ['the provider was called', 'public.payments was', 'atomic_jobs.job'].filter(
      (what) => !sideEffects.some((effect) => effect.startsWith(what)),
    )
    if (status === 201 && missing.length === 0) return
    const violations = [`answered ${status}`, ...missing.map((what) => `not detected: ${what}`)]
    this.#countFailure({ label, violations, line: undefined })
  }

  #send(cases: readonly Case[], onProgress?: (done: number) => void): Promise<Result[]> {
    const { subject, fixtures } = this.#place
    const target = { url: subject.apiUrl, names: fixtures.names }
    const drafts = cases.map(({ draft }) => draft)
    return Promise.race([sendAll(target, drafts, onProgress, this.#signal), subject.failed])
  }

  #judge(one: Case, result: Result): string[] {
    return [...judge(one, result, this.#place.fixtures.secrets), ...judgeAcceptance(one, result)]
  }

  async #recordBadAnswer(
    one: Case,
    violations: readonly string[],
    drawing: Drawing | undefined,
    index: number,
  ): Promise<void> {
    this.#failed += 1
    if (this.isStopped) return
    const smallest = drawing === undefined ? undefined : await this.#shrink(drawing, index)
    const reported = smallest ?? { one, violations }
    this.#addFailure({
      label: reported.one.label,
      violations: reported.violations,
      line: encodeCase(reported.one),
    })
  }

  /** Shrinks a drawn case: returns the smallest case that also fails. */
  async #shrink(
    { kind, seed }: Drawing,
    index: number,
  ): Promise<{ one: Case; violations: string[] } | undefined> {
    const { subject, fixtures } = this.#place
    const target = { url: subject.apiUrl, names: fixtures.names }
    let last: { one: Case; violations: string[] } | undefined
    const property = fc.asyncProperty(kind === 'bad' ? badCases : openCases, async (one) => {
      this.#signal.throwIfAborted()
      const violations = this.#judge(one, await sendOne(target, one.draft))
      if (violations.length === 0) return
      last = { one, violations }
      throw new Error(violations.join('; '))
    })
    const interruptAfterTimeLimit = SHRINK_LIMIT_MS
    await fc.check(property, {
      seed,
      path: String(index),
      numRuns: SHRINK_RUNS,
      interruptAfterTimeLimit,
    })
    return last
  }

  async #checkSideEffects(cases: readonly Case[], before: Snapshot): Promise<void> {
    const { sideEffects, now } = await findSideEffects(this.#place.subject, before)
    this.#snapshot = now
    if (sideEffects.length === 0) return
    this.#snapshot = undefined
    const drafts = cases.map(({ draft }) => draft)
    const draft = await bisect(this.#place, drafts, this.#signal)
    const one = cases.find((candidate) => candidate.draft === draft)
    const label = one?.label ?? 'several requests together'
    const line = one && encodeCase(one)
    // The answer of this request is already reported and counted.
    const isKnown = line !== undefined && this.#failures.some((failure) => failure.line === line)
    const failure = { label, violations: sideEffects, line }
    if (isKnown) this.#addFailure(failure)
    else this.#countFailure(failure)
  }

  #countFailure(failure: Failure): void {
    this.#failed += 1
    this.#addFailure(failure)
  }

  /** Merges the violations of one request: in its answer and in its side effects. */
  #addFailure(failure: Failure): void {
    const { line, violations } = failure
    const known = this.#failures.findIndex((one) => line !== undefined && one.line === line)
    const before = this.#failures[known]
    if (before === undefined) {
      this.#failures.push(failure)
      return
    }
    const all = new Set([...before.violations, ...violations])
    this.#failures[known] = { ...before, violations: [...all] }
  }
}

/** A body that the service accepts must be valid by openapi.yaml. */
function judgeAcceptance({ operation, draft, types }: Case, result: Result): string[] {
  if (operation === undefined || types.length > 0 || result instanceof Error) return []
  const { body } = operationNamed(operation)
  if (body === undefined || result.status >= 300) return []
  const text = Buffer.from(draft.body ?? '', 'latin1').toString()
  const value = (text === '' ? {} : JSON.parse(text)) as unknown
  return isRefused(value, body.isValid) ? ['accepted a body that openapi.yaml does not allow'] : []
}
