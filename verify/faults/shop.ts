// The client of a run: a shop that carries out what the scenario says, one operation after the other, and
// comes back with the same key until it has a final answer. What it was told is its history.
import { startFigures } from '../simulate/figures.ts'
import {
  LABEL_FIELD,
  RUN_FIELD,
  type Answer,
  type History,
  type Operation,
  type PaymentBody,
  type Wish,
  startHistory,
} from '../simulate/history.ts'
import { seededRandom } from '../simulate/random.ts'
import { createSender, type Sender } from '../simulate/sender.ts'
import { settle } from '../simulate/settle.ts'
import { keepAnswer } from '../simulate/traffic.ts'
import { idsIn } from './ids-in.ts'
import type { Lane, LaneTenant } from './lane.ts'
import type { Violation } from './results.ts'

/** How long everything may take to come right after the last fault: the bound of invariant 7. */
export const RECOVERY_LIMIT_SECONDS = 30

export class Shop {
  readonly history: History
  readonly sender: Sender
  readonly tenant: LaneTenant
  readonly lane: Lane
  /** Its tenant's id, and every id in anything that the service has answered. */
  readonly known: Set<string>
  /** What the client itself has seen that must not be. */
  readonly found: Violation[] = []
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal
  /** When a fault was over that the scenario itself has planted, by the clock of `performance`. */
  healedAt = 0

  constructor(lane: Lane, tenant: LaneTenant, signal: AbortSignal) {
    this.tenant = tenant
    this.lane = lane
    this.known = new Set([tenant.id])
    this.signal = signal
    this.history = startHistory('fault')
    this.sender = createSender({
      baseUrl: lane.apiUrl,
      apiKey: tenant.apiKey,
      figures: startFigures(),
      dropPercent: () => 0,
      random: seededRandom(0),
      heard: this.hear,
    })
  }

  /** Takes in whatever was answered, errors too. */
  readonly hear = (text: string): void => {
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

  /** Asks for everything once more, which has to bring the same answers. */
  async replay(): Promise<void> {
    for (const operation of this.history.operations) {
      if (operation.answers.length > 0) await this.#send(operation)
    }
  }

  /** The how manieth operation it is. */
  #nextLabel(): string {
    return String(this.history.operations.length + 1)
  }

  #tag(label: string): Pick<PaymentBody, 'metadata'> {
    return { metadata: { [RUN_FIELD]: this.history.run, [LABEL_FIELD]: label } }
  }

  async #perform(wish: Wish): Promise<Answer> {
    const label = this.#nextLabel()
    const key = keyOf(label)
    const operation: Operation = { wish, key, label, answers: [], pending: undefined }
    this.history.operations.push(operation)
    await this.#send(operation)
    await settle({
      sender: this.sender,
      history: this.history,
      concurrency: 1,
      seconds: RECOVERY_LIMIT_SECONDS,
      signal: this.signal,
      progressed: () => {},
    })
    const [answer] = operation.answers
    if (answer === undefined) throw new UnsettledError(`${wish.kind} has no final answer`)
    return answer
  }

  async #send(operation: Operation): Promise<void> {
    const { wish, key } = operation
    const { signal } = this
    keepAnswer(operation, await this.sender.send(wish, key, { patience: 'wait', signal }))
  }
}

/** Every run has the same keys, in a tenant of its own. */
export function keyOf(label: string): string {
  return `order-${label}`
}

export const FIRST_KEY = keyOf('1')

/** An operation that did not settle in time; the checks say what that breaks. */
export class UnsettledError extends Error {
  override name = 'UnsettledError'
}
