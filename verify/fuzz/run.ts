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
import { type Result, sendAll } from './connection.ts'
import { type Failure, type Outcome, Statistics } from './report.ts'
import type { Snapshot, TestBed } from './side-effects.ts'
import { bisect, findSideEffects, targetOf, waitUntilIdle } from './side-effects.ts'

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
  const shares = [
    ['bad', options.requests - open],
    ['open', open],
  ] as const
  const onProgress = progress.begin('Requests', corpus.length + options.requests)
  await run.sendBatch(corpus, undefined, onProgress)
  for (const [kind, share] of shares) {
    for (let sent = 0; sent < share && !run.isStopped; sent += BATCH) {
      await run.sendDrawn(kind, Math.min(BATCH, share - sent), onProgress)
    }
  }
  if (!run.isStopped) await run.checkDetection()
  return run.outcome()
}

const DRAWN = { bad: badCases, open: openCases }

/** How a batch was drawn, so that one of its cases can be drawn again. */
interface Drawing {
  readonly kind: keyof typeof DRAWN
  readonly seed: number
}

/** A case and what is wrong with its answer. */
interface BadAnswer {
  readonly one: Case
  readonly violations: readonly string[]
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
    numRuns: number,
    onProgress: (done: number) => void,
  ): Promise<void> {
    this.#batches += 1
    const seed = this.#seed + this.#batches
    await this.sendBatch(fc.sample(DRAWN[kind], { seed, numRuns }), { kind, seed }, onProgress)
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
    const { sent } = this.#statistics
    const answers = await this.#send(cases, (done) => onProgress(sent + done))
    for (const [index, [one, result]] of answers.entries()) {
      this.#statistics.count(one, result)
      const violations = this.#judge(one, result)
      if (violations.length > 0) await this.#recordBadAnswer({ one, violations }, drawing, index)
    }
    if (drawing?.kind !== 'open') await this.#checkSideEffects(cases, before)
    const logged = subject.log.violations.splice(0)
    if (logged.length > 0) this.#countFailure({ label: 'the log', violations: logged })
  }

  /**
   * Checks that the side effects of a valid payment are detected. Otherwise the other checks prove
   * nothing.
   */
  async checkDetection(): Promise<void> {
    const { subject } = this.#place
    const before = await waitUntilIdle(subject)
    const label = 'a valid payment, whose side effects must be detected'
    const [answer] = await this.#send([{ label, draft: patientPayment(), types: [] }])
    const { sideEffects } = await findSideEffects(subject, before)
    const result = answer?.[1]
    const status = result instanceof Error ? result.message : result?.status
    const missing = ['the provider was called', 'public.payments was', 'atomic_jobs.job'].filter(
      (what) => !sideEffects.some((effect) => effect.startsWith(what)),
    )
    if (status === 201 && missing.length === 0) return
    const violations = [`answered ${status}`, ...missing.map((what) => `not detected: ${what}`)]
    this.#countFailure({ label, violations })
  }

  /** Sends the cases. Returns each with its result. */
  async #send(
    cases: readonly Case[],
    onProgress?: (done: number) => void,
  ): Promise<[Case, Result][]> {
    const { subject } = this.#place
    const drafts = cases.map(({ draft }) => draft)
    const sending = sendAll(targetOf(this.#place), drafts, onProgress, this.#signal)
    const results = await Promise.race([sending, subject.failed])
    return cases.map((one, index) => [one, results[index] as Result])
  }

  #judge(one: Case, result: Result): string[] {
    return judge(one, result, this.#place.fixtures.secrets)
  }

  async #recordBadAnswer(
    bad: BadAnswer,
    drawing: Drawing | undefined,
    index: number,
  ): Promise<void> {
    this.#failed += 1
    if (this.isStopped) return
    const smallest = drawing === undefined ? undefined : await this.#shrink(drawing, index)
    const { one, violations } = smallest ?? bad
    this.#addFailure({ label: one.label, violations, line: encodeCase(one) })
  }

  /** Shrinks a drawn case: returns the smallest case that also fails. */
  async #shrink({ kind, seed }: Drawing, index: number): Promise<BadAnswer | undefined> {
    let last: BadAnswer | undefined
    const property = fc.asyncProperty(DRAWN[kind], async (one) => {
      this.#signal.throwIfAborted()
      const results = await sendAll(targetOf(this.#place), [one.draft])
      const violations = results.flatMap((result) => this.#judge(one, result))
      if (violations.length === 0) return
      last = { one, violations }
      throw new Error(violations.join('; '))
    })
    await fc.check(property, {
      seed,
      path: String(index),
      numRuns: SHRINK_RUNS,
      interruptAfterTimeLimit: SHRINK_LIMIT_MS,
    })
    return last
  }

  async #checkSideEffects(cases: readonly Case[], before: Snapshot): Promise<void> {
    const { sideEffects, now } = await findSideEffects(this.#place.subject, before)
    if (sideEffects.length === 0) {
      this.#snapshot = now
      return
    }
    const drafts = cases.map(({ draft }) => draft)
    const draft = await bisect(this.#place, drafts, this.#signal)
    const one = cases.find((candidate) => candidate.draft === draft)
    const label = one?.label ?? 'several requests together'
    const failure = { label, violations: sideEffects, line: one && encodeCase(one) }
    // The answer of this request is already reported and counted.
    if (this.#known(failure) === undefined) this.#countFailure(failure)
    else this.#addFailure(failure)
  }

  #countFailure(failure: Failure): void {
    this.#failed += 1
    this.#addFailure(failure)
  }

  /** Merges the violations of one request: in its answer and in its side effects. */
  #addFailure(failure: Failure): void {
    const known = this.#known(failure)
    if (known === undefined) this.#failures.push({ ...failure })
    else known.violations = [...new Set([...known.violations, ...failure.violations])]
  }

  /** The failure of the same request, if there is one. */
  #known({ line }: Failure): Failure | undefined {
    return this.#failures.find((one) => line !== undefined && one.line === line)
  }
}
