// The simplest model of the service as clients see it: payments with a status and amounts, and keys
// with their answers. It knows nothing about workers, phases or the database.

/** The share of the available amount: all of it, a part in percent, or one unit too much. */
type Share = 'all' | 'too much' | number

/** An action on a payment. */
export type Action =
  | { readonly kind: 'capture'; readonly share: Share }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'refund'; readonly share: Share }

/** An answer to a client: the status, and the type of the problem if it is one. */
export interface Told {
  readonly status: number
  readonly problem?: string
}

interface Refund {
  readonly id: string
  readonly amount: number
}

/** The statuses in which a payment can be idle. */
type Status = 'requires_action' | 'requires_capture' | 'succeeded' | 'declined' | 'canceled'

export interface Payment {
  readonly id: string
  readonly amount: number
  readonly currency: string
  readonly status: Status
  readonly captured: number
  readonly refunds: readonly Refund[]
  /** The calls that the provider must have executed, as `kind amount`. */
  readonly executed: readonly string[]
}

/** The behaviour of the test cards. Cards with a fault succeed when the same call is repeated. */
const cards = {
  pm_card_visa: 'approved',
  pm_card_chargeDeclined: 'declined',
  pm_card_threeDSecure2Required: 'asked',
  pm_fault_error_500_after: 'approved',
  pm_fault_reset_after: 'approved',
} as const
type Card = keyof typeof cards

export interface Creation {
  readonly amount: number
  readonly currency: string
  readonly capture_method: 'automatic' | 'manual'
  readonly payment_method: Card
}

/** The payment after its creation, and the answer to the client. */
export function create(id: string, creation: Creation): { told: Told; payment: Payment } {
  const { amount, currency } = creation
  const none = { id, amount, currency, captured: 0, refunds: [], executed: [] }
  const behavior = cards[creation.payment_method]
  if (behavior === 'declined') {
    const told = { status: 402, problem: 'payment-declined' }
    return { told, payment: { ...none, status: 'declined' } }
  }
  const told = { status: 201 }
  if (behavior === 'asked') return { told, payment: { ...none, status: 'requires_action' } }
  const executed = [`payment_intent.create ${amount}`]
  const held: Payment = { ...none, status: 'requires_capture', executed }
  return { told, payment: creation.capture_method === 'manual' ? held : captureOf(held, amount) }
}

/** The amount of a share now; undefined leaves it to the service. */
export function amountOf(payment: Payment, action: Action): number | undefined {
  if (action.kind === 'cancel' || action.share === 'all') return undefined
  const most = action.kind === 'capture' ? payment.amount : leftToRefund(payment)
  if (action.share === 'too much') return most + 1
  return Math.max(1, Math.floor((most * action.share) / 100))
}

/** An action with the amount of its request. */
export interface Request {
  readonly kind: Action['kind']
  readonly amount: number | undefined
}

/** Applies an action to a payment. The id of a refund is known only from the answer. */
export function act(payment: Payment, { kind, amount }: Request): { told: Told; after: Payment } {
  const refused = (status: number, problem: string) => ({
    told: { status, problem },
    after: payment,
  })
  switch (kind) {
    case 'capture':
      if (amount !== undefined && amount > payment.amount) {
        return refused(422, 'capture-exceeds-authorization')
      }
      if (payment.status !== 'requires_capture') return refused(409, 'invalid-state')
      return { told: { status: 200 }, after: captureOf(payment, amount ?? payment.amount) }
    case 'cancel': {
      const { status } = payment
      if (status !== 'requires_capture' && status !== 'requires_action') {
        return refused(409, 'invalid-state')
      }
      const released = status === 'requires_capture' ? payment.amount : 0
      const executed = [...payment.executed, `payment_intent.cancel ${released}`]
      return { told: { status: 200 }, after: { ...payment, status: 'canceled', executed } }
    }
    case 'refund': {
      if (payment.status !== 'succeeded') return refused(409, 'invalid-state')
      const given = amount ?? leftToRefund(payment)
      if (given === 0 || given > leftToRefund(payment))
        return refused(409, 'refund-exceeds-capture')
      const refunds = [...payment.refunds, { id: '', amount: given }]
      const executed = [...payment.executed, `refund.create ${given}`]
      return { told: { status: 201 }, after: { ...payment, refunds, executed } }
    }
  }
}

function captureOf(payment: Payment, amount: number): Payment {
  const executed = [...payment.executed, `payment_intent.capture ${amount}`]
  return { ...payment, status: 'succeeded', captured: amount, executed }
}

export function refunded({ refunds }: Payment): number {
  return refunds.reduce((sum, { amount }) => sum + amount, 0)
}

function leftToRefund(payment: Payment): number {
  return payment.captured - refunded(payment)
}

/** The fee for a capture: hundredths of a percent, half a unit rounded up, and a fixed part. */
export function feeOf(captured: number, fees: { basisPoints: number; fixedMinor: number }): number {
  const share = Math.round((captured * fees.basisPoints) / 10_000)
  return captured === 0 ? 0 : Math.min(captured, share + fees.fixedMinor)
}
