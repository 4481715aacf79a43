// The merchant of a run: the client that makes the requests of the scenario, one after the other.
// It retries with the same idempotency key until it has a final answer, and keeps all answers as
// history.
import { startFigures } from '../simulate/figures.ts'
import {
  LABEL_FIELD,
  RUN_FIELD,
  type Answer,
  type History,
  type Operation,
  type PaymentBody,
  type RequestContent,
  startHistory,
} from '../simulate/history.ts'
import { seededRandom } from '../simulate/random.ts'
import { createSender, type Sender, type SenderOptions } from '../simulate/sender.ts'
import { awaitFinalAnswers } from '../simulate/await-final-answers.ts'
import { keepAnswer } from '../simulate/traffic.ts'
import { idsIn } from './ids-in.ts'
import type { Lane, LaneTenant } from './lane.ts'
import type { Comparison, Violation } from './results.ts'

/** How long recovery may take after the last fault: the limit of invariant 7. */
export const RECOVERY_LIMIT_SECONDS = 30

export class Merchant {
  readonly history: History
  readonly sender: Sender
  readonly tenant: LaneTenant
  readonly lane: Lane
  /** The tenant's id, and every id in the answers of the service. */
  readonly known: Set<string>
  /** Violations that the scenario itself detected. */
  readonly violations: Violation[] = []
  /** Its neighbours in the run, whose records are checked as well. */
  readonly neighbours: Merchant[] = []
  /** What it measured alone, and beside its neighbours. */
  readonly comparisons: Comparison[] = []
  /** Aborted to stop the suite early. */
  readonly signal: AbortSignal
  /** When a fault of the scenario itself was over, by the clock of `performance`. */
  healedAt = 0

  constructor(lane: Lane, tenant: LaneTenant, signal: AbortSignal) {
    this.tenant = tenant
    this.lane = lane
    this.known = new Set([tenant.id])
    this.signal = signal
    this.history = startHistory('fault')
    this.sender = this.#createSender()
  }

  /** A client that sends each request once. */
  createImpatientSender(): Sender {
    return this.#createSender({ maxFailures: 1 })
  }

  #createSender(options: Pick<SenderOptions, 'maxFailures'> = {}): Sender {
    return createSender({
      baseUrl: this.lane.apiUrl,
      apiKey: this.tenant.apiKey,
      figures: startFigures(),
      dropPercent: () => 0,
      random: seededRandom(0),
      heard: this.recordIds,
      ...options,
    })
  }

  /** Records the ids in an answer, errors included. */
  readonly recordIds = (text: string): void => {
    for (const id of idsIn(text)) this.known.add(id)
  }

  async pay(body: Omit<PaymentBody, 'metadata'>): Promise<Answer> {
    const label = this.#nextLabel()
    return await this.#perform({ kind: 'payment.create', body: { ...body, ...this.#tag(label) } })
  }

  async capture(paymentId: string, amount: number): Promise<Answer> {
    return await this.#perform({ kind: 'payment.capture', paymentId, amount })
  }

  async cancel(paymentId: string): Promise<Answer> {
    return await this.#perform({ kind: 'payment.cancel', paymentId })
  }

  async refund(paymentId: string, amount: number): Promise<Answer> {
    const body = { amount, ...this.#tag(this.#nextLabel()) }
    return await this.#perform({ kind: 'refund.create', paymentId, body })
  }

  /** Any other operation on a payment, by its route. */
  async operate(path: string, paymentId: string, body: OperationBody): Promise<Answer> {
    return await this.#perform({ kind: 'operation', path, paymentId, body })
  }

  /** Repeats every request, or the first ones, which must return the same answers. */
  async replay(most = Infinity): Promise<void> {
    for (const operation of this.history.operations.slice(0, most)) {
      if (operation.answers.length > 0) await this.#send(operation)
    }
  }

  #nextLabel(): string {
    return String(this.history.operations.length + 1)
  }

  #tag(label: string): Pick<PaymentBody, 'metadata'> {
    return { metadata: { [RUN_FIELD]: this.history.run, [LABEL_FIELD]: label } }
  }

  async #perform(content: RequestContent): Promise<Answer> {
    const label = this.#nextLabel()
    const key = keyOf(label)
    const operation: Operation = { content, key, label, answers: [], pending: undefined }
    this.history.operations.push(operation)
    await this.#send(operation)
    await awaitFinalAnswers({
      sender: this.sender,
      history: this.history,
      concurrency: 1,
      seconds: RECOVERY_LIMIT_SECONDS,
      signal: this.signal,
      progressed: () => {},
    })
    const [answer] = operation.answers
    if (answer === undefined) throw new NoFinalAnswerError(`${content.kind} has no final answer`)
    return answer
  }

  async #send(operation: Operation): Promise<void> {
    const { content, key } = operation
    const { signal } = this
    keepAnswer(operation, await this.sender.send(content, key, { patience: 'wait', signal }))
  }
}

type OperationBody = Readonly<Record<string, unknown>>

/** Every run uses the same idempotency keys, with another tenant. */
export function keyOf(label: string): string {
  return `order-${label}`
}

export const FIRST_KEY = keyOf('1')

/** An operation got no final answer in time. The checks report what that breaks. */
export class NoFinalAnswerError extends Error {
  override name = 'NoFinalAnswerError'
}
