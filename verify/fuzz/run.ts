// A run: the corpus, then bad requests by chance, then those of which nobody knows; in batches, of which each has
// to leave everything as it was. At last a good payment, to show that all of this would have been seen.
import * as fc from 'fast-check'
import type { Progress } from '../../bench/progress.ts'
import { badCases } from './bad-cases.ts'
import { corpus } from './corpus/corpus.ts'
import { patientPayment } from './corpus/requests.ts'
import { encodeCase, type Case } from './draft.ts'
import { judge } from './judge.ts'
import { openCases } from './open-cases.ts'
import { isRefused } from './defects/of-fields.ts'
import { operationNamed } from './operations.ts'
import { sendAll, sendOne, type Result } from './sending.ts'
import { Statistics } from './statistics.ts'
import { bisect, findTraces, settle, type Before, type Place } from './watch.ts'

export interface RunOptions {
  /** So many requests are made by chance, beside the corpus. */
  readonly requests: number
  readonly seed: number
  /** The one to send, instead of all that. */
  readonly only?: Case | undefined
}

export interface Failure {
  readonly label: string
  readonly complaints: readonly string[]
  /** The line that repeats it; undefined for what no single request has done. */
  readonly line: string | undefined
}

export interface Outcome {
  readonly passed: number
  /** More than the failures that are told, when there are too many. */
  readonly failed: number
  readonly failures: readonly Failure[]
  readonly statistics: Statistics
}

/** So many are sent between two looks at what is there. */
const BATCH = 2_000

/** Of ten requests by chance one may be a good one. */
const OPEN_SHARE = 0.1

/** Each is made as small as it can be, which takes its time. */
const FAILURES_MAX = 10
const SHRINK_LIMIT_MS = 20_000
const SHRINK_RUNS = 1

export async function runFuzz(
  place: Place,
  options: RunOptions,
  progress: Progress,
  signal: AbortSignal,
): Promise<Outcome> {
  place.subject.log.watchFor(place.shop.secrets)
  const run = new Run(place, options.seed, signal)
  if (options.only !== undefined) {
    await run.sendBatch([options.only], undefined)
    return run.outcome()
  }
  const open = Math.floor(options.requests * OPEN_SHARE)
  const bad = options.requests - open
  const told = progress.begin('Requests', corpus.length + options.requests)
  await run.sendBatch(corpus, undefined, told)
  for (let sent = 0; sent < bad && !run.isOver; sent += BATCH) {
    await run.sendDrawn('bad', Math.min(BATCH, bad - sent), told)
  }
  for (let sent = 0; sent < open && !run.isOver; sent += BATCH) {
    await run.sendDrawn('open', Math.min(BATCH, open - sent), told)
  }
  if (!run.isOver) await run.proveSight()
  return run.outcome()
}

/** Where a batch was drawn from, to draw one of it again. */
interface Drawing {
  readonly kind: 'bad' | 'open'
  readonly seed: number
}

class Run {
  readonly #place: Place
  readonly #seed: number
  readonly #signal: AbortSignal
  readonly #statistics = new Statistics()
  readonly #failures: Failure[] = []
  #failed = 0
  #batches = 0
  /** What there is, as long as nothing has been sent since it was looked at. */
  #now: Before | undefined

  constructor(place: Place, seed: number, signal: AbortSignal) {
    this.#place = place
    this.#seed = seed
    this.#signal = signal
  }

  /** Whether more of it would tell nothing new. */
  get isOver(): boolean {
    return this.#signal.aborted || this.#failures.length >= FAILURES_MAX
  }

  outcome(): Outcome {
    const failed = this.#failed
    const passed = Math.max(0, this.#statistics.sent - failed)
    return { passed, failed, failures: this.#failures, statistics: this.#statistics }
  }

  async sendDrawn(
    kind: Drawing['kind'],
    some: number,
    told: (done: number) => void,
  ): Promise<void> {
    this.#batches += 1
    const drawing = { kind, seed: this.#seed + this.#batches }
    const cases = fc.sample(kind === 'bad' ? badCases : openCases, {
      seed: drawing.seed,
      numRuns: some,
    })
    await this.sendBatch(cases, drawing, told)
  }

  /** Sends some, judges each answer, and then what has come of all of them. */
  async sendBatch(
    cases: readonly Case[],
    drawing: Drawing | undefined,
    told: (done: number) => void = () => {},
  ): Promise<void> {
    const { subject } = this.#place
    const before = this.#now ?? (await settle(subject))
    this.#now = undefined
    const sent = this.#statistics.sent
    const results = await this.#send(cases, (done) => told(sent + done))
    for (const [index, one] of cases.entries()) {
      const result = results[index]
      if (result === undefined) throw new Error('a request was left out')
      this.#statistics.count(one, result)
      const complaints = this.#judge(one, result)
      if (complaints.length > 0) await this.#failAnswer(one, complaints, drawing, index)
    }
    if (drawing?.kind !== 'open') await this.#judgeTraces(cases, before)
    const said = subject.log.complaints.splice(0)
    if (said.length > 0) this.#fail({ label: 'the log', complaints: said, line: undefined })
  }

  /** What a good payment does has to be seen: else nothing that was looked at would tell anything. */
  async proveSight(): Promise<void> {
    const { subject } = this.#place
    const before = await settle(subject)
    const label = 'a good payment, which has to be seen'
    const [result] = await this.#send([{ label, draft: patientPayment(), types: [] }])
    const { traces } = await findTraces(subject, before)
    const status = result instanceof Error ? result.message : result?.status
    const seen = ['the provider was called', 'public.payments was', 'pgboss.job'].filter(
      (what) => !traces.some((trace) => trace.startsWith(what)),
    )
    if (status === 201 && seen.length === 0) return
    const complaints = [`answered ${status}`, ...seen.map((what) => `not seen: ${what}`)]
    this.#fail({ label, complaints, line: undefined })
  }

  #send(cases: readonly Case[], told?: (done: number) => void): Promise<Result[]> {
    const { subject, shop } = this.#place
    const target = { url: subject.apiUrl, names: shop.names }
    const drafts = cases.map(({ draft }) => draft)
    return Promise.race([sendAll(target, drafts, told, this.#signal), subject.failed])
  }

  #judge(one: Case, result: Result): string[] {
    return [...judge(one, result, this.#place.shop.secrets), ...judgeAcceptance(one, result)]
  }

  async #failAnswer(
    one: Case,
    complaints: readonly string[],
    drawing: Drawing | undefined,
    index: number,
  ): Promise<void> {
    this.#failed += 1
    if (this.isOver) return
    const smallest = drawing === undefined ? undefined : await this.#shrink(drawing, index)
    const told = smallest ?? { one, complaints }
    this.#tell({
      label: told.one.label,
      complaints: told.complaints,
      line: encodeCase(told.one),
    })
  }

  /** The smallest that fails in the same way as the one that was drawn in that place. */
  async #shrink(
    { kind, seed }: Drawing,
    index: number,
  ): Promise<{ one: Case; complaints: string[] } | undefined> {
    const { subject, shop } = this.#place
    const target = { url: subject.apiUrl, names: shop.names }
    let last: { one: Case; complaints: string[] } | undefined
    const property = fc.asyncProperty(kind === 'bad' ? badCases : openCases, async (one) => {
      this.#signal.throwIfAborted()
      const complaints = this.#judge(one, await sendOne(target, one.draft))
      if (complaints.length === 0) return
      last = { one, complaints }
      throw new Error(complaints.join('; '))
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

  async #judgeTraces(cases: readonly Case[], before: Before): Promise<void> {
    const { traces, now } = await findTraces(this.#place.subject, before)
    this.#now = now
    if (traces.length === 0) return
    this.#now = undefined
    const drafts = cases.map(({ draft }) => draft)
    const draft = await bisect(this.#place, drafts, this.#signal)
    const one = cases.find((candidate) => candidate.draft === draft)
    const label = one?.label ?? 'requests together'
    const line = one && encodeCase(one)
    // Its answer has told of it already.
    const isKnown = line !== undefined && this.#failures.some((failure) => failure.line === line)
    const failure = { label, complaints: traces, line }
    if (isKnown) this.#tell(failure)
    else this.#fail(failure)
  }

  #fail(failure: Failure): void {
    this.#failed += 1
    this.#tell(failure)
  }

  /** What is found of the same request twice, of its answer and of its traces, is told together. */
  #tell(failure: Failure): void {
    const { line, complaints } = failure
    const known = this.#failures.findIndex((one) => line !== undefined && one.line === line)
    const before = this.#failures[known]
    if (before === undefined) {
      this.#failures.push(failure)
      return
    }
    const all = new Set([...before.complaints, ...complaints])
    this.#failures[known] = { ...before, complaints: [...all] }
  }
}

/** What is accepted has to be what the document allows. */
function judgeAcceptance({ operation, draft, types }: Case, result: Result): string[] {
  if (operation === undefined || types.length > 0 || result instanceof Error) return []
  const { body } = operationNamed(operation)
  if (body === undefined || result.status >= 300) return []
  const text = Buffer.from(draft.body ?? '', 'latin1').toString()
  const value = (text === '' ? {} : JSON.parse(text)) as unknown
  return isRefused(value, body.isValid) ? ['took a body that openapi.yaml does not allow'] : []
}
