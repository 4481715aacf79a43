// The merchant of a run: the client that makes the requests of the scenario. It retries with the same
// idempotency key until it has a final answer, and keeps all answers as history.
import { type IdPrefix, parseId } from '../../src/domain/resource-id.ts'
import { createSender, type Sender, type SenderOptions, startFigures } from '../simulate/sender.ts'
import type {
  Answer,
  History,
  Operation,
  PaymentBody,
  RefusedRequest,
  RequestContent,
} from '../simulate/history.ts'
import { LABEL_FIELD, RUN_FIELD, startHistory } from '../simulate/history.ts'
import { seededRandom } from '../simulate/random.ts'
import { awaitFinalAnswers, keepAnswer } from '../simulate/traffic.ts'
import type { Lane, LaneTenant } from './lane.ts'
import { type Comparison, RECOVERY_LIMIT_SECONDS, type Violation } from './results.ts'

const UUID = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/g
/** Ids of the service and of the provider. */
const PREFIXED = /\b([a-z]{2,4})_[\dA-Za-z]{14,}\b/g

/** Returns each id as its UUID, if it has one. */
export function idsIn(text: string): string[] {
  const prefixed = Array.from(
    text.matchAll(PREFIXED),
    ([id, prefix]) => parseId(prefix as IdPrefix, id) ?? id,
  )
  return [...(text.match(UUID) ?? []), ...prefixed]
}

/** The content of a request, before the merchant marks it as one of the run. */
export type Wanted =
  | Exclude<RequestContent, { kind: 'payment.create' | 'refund.create' }>
  | { readonly kind: 'payment.create'; readonly body: Unmarked<PaymentBody> }
  | {
      readonly kind: 'refund.create'
      readonly paymentId: string
      readonly body: Unmarked<{ readonly amount: number; readonly reference?: string }>
    }

type Unmarked<Body> = Omit<Body, 'metadata'> & {
  readonly metadata?: Readonly<Record<string, string>>
}

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

  async pay(body: Unmarked<PaymentBody>): Promise<Answer> {
    return await this.perform({ kind: 'payment.create', body })
  }

  async capture(paymentId: string, amount: number): Promise<Answer> {
    return await this.perform({ kind: 'payment.capture', paymentId, amount })
  }

  async refund(paymentId: string, amount: number): Promise<Answer> {
    return await this.perform({ kind: 'refund.create', paymentId, body: { amount } })
  }

  /** Makes a request, and waits for its final answer. */
  async perform(wanted: Wanted): Promise<Answer> {
    const operation = this.begin(wanted)
    await this.send(operation)
    await this.untilAllAnswered()
    return operation.answers[0] as Answer
  }

  /** From here on the history contains the operation, even if its request gets no answer. */
  begin(wanted: Wanted, label = String(this.history.operations.length + 1)): Operation {
    const key = keyOf(String(this.history.operations.length + 1))
    const content = this.#mark(wanted, label)
    const operation: Operation = { content, key, label, answers: [], pending: undefined }
    this.history.operations.push(operation)
    return operation
  }

  async send(
    operation: Operation,
    { sender = this.sender, signal = this.signal }: { sender?: Sender; signal?: AbortSignal } = {},
  ): Promise<void> {
    const { content, key } = operation
    keepAnswer(operation, await sender.send(content, key, { patience: 'wait', signal }))
  }

  /** Sends a request that the service must refuse. */
  async sendRefused(wanted: Wanted, refused: Omit<RefusedRequest, 'answer'>): Promise<void> {
    const content = this.#mark(wanted, refused.label)
    const answer = await this.sender.send(content, refused.key, { patience: 'wait' })
    this.history.refused.push({ ...refused, answer })
  }

  /** @throws NoFinalAnswerError when an operation has none in time. */
  async untilAllAnswered(): Promise<void> {
    const { sender, history, signal } = this
    const seconds = RECOVERY_LIMIT_SECONDS
    await awaitFinalAnswers({ sender, history, concurrency: 2, seconds, signal })
    const open = history.operations.find(({ answers }) => answers.length === 0)
    if (open !== undefined) throw new NoFinalAnswerError(`${open.content.kind} has no final answer`)
  }

  /** Repeats every request, or the first ones, which must return the same answers. */
  async replay(most = Infinity): Promise<void> {
    for (const operation of this.history.operations.slice(0, most)) {
      if (operation.answers.length > 0) await this.send(operation)
    }
  }

  /** By its metadata the checks know a payment or refund of the run, also at the provider. */
  #mark(wanted: Wanted, label: string): RequestContent {
    if (wanted.kind !== 'payment.create' && wanted.kind !== 'refund.create') return wanted
    const mark = { [RUN_FIELD]: this.history.run, [LABEL_FIELD]: label }
    const body = { ...wanted.body, metadata: { ...wanted.body.metadata, ...mark } }
    return { ...wanted, body } as RequestContent
  }
}

/** Every run uses the same idempotency keys, with another tenant. */
function keyOf(label: string): string {
  return `order-${label}`
}

export const FIRST_KEY = keyOf('1')

/** An operation got no final answer in time. The checks report what that breaks. */
export class NoFinalAnswerError extends Error {
  override name = 'NoFinalAnswerError'
}
