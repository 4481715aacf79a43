// The payment provider Stripe, or whoever speaks its wire format, through Stripe's official package.
// An answer counts only when it says what was asked for: the amount, the currency and the status.
import Stripe from 'stripe'
import type { Outcome } from '../domain/outcome.ts'
import { showPaymentId, type Payment } from '../domain/payment.ts'
import type { Authorization, CallIdentity, Capture, PaymentProvider } from './payment-provider.ts'
import { classifyStripeError, declined, describeStripeError, unknown } from './stripe-errors.ts'
import { createStripeHttpClient } from './stripe-http-client.ts'

export interface StripeOptions {
  readonly secretKey: string
  /** Another server that speaks Stripe's wire format, such as http://127.0.0.1:3100. */
  readonly apiBase?: string | undefined
  /** Bounds each call as a whole, in milliseconds; after that its outcome is unknown. */
  readonly timeoutMs: number
}

type Asked = Readonly<Record<string, unknown>>
type Intent = Stripe.Response<Stripe.PaymentIntent>

export function createStripeProvider(options: StripeOptions): PaymentProvider {
  const stripe = new Stripe(options.secretKey, stripeConfig(options))
  const { timeoutMs } = options
  return {
    name: 'stripe',

    async authorize(payment, identity): Promise<Outcome<Authorization>> {
      const parameters = authorizationParameters(payment, identity)
      const asked = {
        call: 'payment_intents.create',
        provider_key: identity.providerKey,
        amount: payment.amountMinor,
        currency: payment.currency,
        payment_method: payment.paymentMethod,
      }
      return await settle(asked, timeoutMs, async () => {
        const intent = await stripe.paymentIntents.create(parameters, {
          idempotencyKey: identity.providerKey,
        })
        return confirmAuthorization(payment, intent, asked)
      })
    },

    async capture(payment, identity): Promise<Outcome<Capture>> {
      const id = payment.providerPaymentId
      if (id === null) throw new Error(`payment ${payment.id} has nothing to capture`)
      const asked = {
        call: 'payment_intents.capture',
        provider_key: identity.providerKey,
        payment_id: id,
        amount: payment.amountMinor,
      }
      return await settle(asked, timeoutMs, async () => {
        try {
          const intent = await stripe.paymentIntents.capture(
            id,
            { amount_to_capture: payment.amountMinor },
            { idempotencyKey: identity.providerKey },
          )
          return confirmCapture(payment, intent, describeIntent(intent), asked)
        } catch (error) {
          return explainRefusedCapture(payment, error, asked)
        }
      })
    },
  }
}

function stripeConfig({ apiBase, timeoutMs }: StripeOptions): Stripe.StripeConfig {
  const base = new URL(apiBase ?? 'https://api.stripe.com')
  const protocol = base.protocol === 'http:' ? 'http' : 'https'
  return {
    protocol,
    // A URL has an IPv6 address in brackets, a connection has not.
    host: base.hostname.replaceAll(/[[\]]/g, ''),
    port: base.port || (protocol === 'http' ? 80 : 443),
    timeout: timeoutMs,
    // Retries are the engine's decision, with the engine's key.
    maxNetworkRetries: 0,
    httpClient: createStripeHttpClient(protocol),
    telemetry: false,
    appInfo: { name: 'atomic-payments' },
  }
}

function authorizationParameters(
  payment: Payment,
  { operationId }: CallIdentity,
): Stripe.PaymentIntentCreateParams {
  return {
    amount: payment.amountMinor,
    currency: payment.currency,
    payment_method: payment.paymentMethod,
    allowed_payment_method_types: ['card'],
    // Always authorize first: a capture is a phase of its own.
    capture_method: 'manual',
    confirm: true,
    // A card that asks for its holder is declined, as there is no page to send the holder to.
    error_on_requires_action: true,
    metadata: {
      ...payment.metadata,
      atomic_payment: showPaymentId(payment.id),
      atomic_operation: operationId,
    },
    ...(payment.customer === null ? {} : { customer: payment.customer }),
    ...(payment.description === null ? {} : { description: payment.description }),
  }
}

/**
 * Runs a call, turns what it throws into an outcome, and gives up waiting after the time limit: the
 * package's own timeout is for silence only, and an answer that drips in byte by byte is not silent.
 */
async function settle<Value>(
  asked: Asked,
  timeoutMs: number,
  call: () => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<Outcome<Value>>((resolve) => {
    const late = () => resolve(unknown(asked, { error: 'timeout' }, `no answer in ${timeoutMs} ms`))
    timer = setTimeout(late, timeoutMs)
  })
  try {
    return await Promise.race([timeout, answer(asked, call)])
  } finally {
    clearTimeout(timer)
  }
}

async function answer<Value>(
  asked: Asked,
  call: () => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  try {
    return await call()
  } catch (error) {
    return classifyStripeError(error, asked)
  }
}

function describeIntent(intent: Intent): Record<string, unknown> {
  return {
    status: intent.lastResponse?.statusCode,
    request_id: intent.lastResponse?.requestId,
    payment_id: intent.id,
    payment_status: intent.status,
    amount: intent.amount,
  }
}

/** Whether an answer is about this payment at all. The package takes any JSON for a success. */
function isAbout(payment: Payment, intent: Stripe.PaymentIntent): boolean {
  return (
    typeof intent.id === 'string' &&
    intent.object === 'payment_intent' &&
    intent.amount === payment.amountMinor &&
    intent.currency === payment.currency
  )
}

function confirmAuthorization(
  payment: Payment,
  intent: Intent,
  asked: Asked,
): Outcome<Authorization> {
  const answered = describeIntent(intent)
  const held = intent.status === 'requires_capture'
  if (!isAbout(payment, intent) || !held || intent.amount_capturable !== payment.amountMinor) {
    return unknown(asked, answered, 'the answer does not match what was asked')
  }
  return { outcome: 'done', value: { providerPaymentId: intent.id }, asked, answered }
}

function confirmCapture(
  payment: Payment,
  intent: Stripe.PaymentIntent,
  answered: Record<string, unknown>,
  asked: Asked,
): Outcome<Capture> {
  const taken = intent.status === 'succeeded' && intent.amount_received === payment.amountMinor
  if (!isAbout(payment, intent) || intent.id !== payment.providerPaymentId || !taken) {
    return unknown(asked, answered, 'the answer does not match what was asked')
  }
  return {
    outcome: 'done',
    value: { amountCapturedMinor: intent.amount_received },
    asked,
    answered,
  }
}

/**
 * Stripe refuses to capture what is not waiting for it. When that is because it has been captured (by
 * an earlier try whose key is forgotten), the refusal is the proof that it is done.
 */
function explainRefusedCapture(payment: Payment, error: unknown, asked: Asked): Outcome<Capture> {
  const refused =
    error instanceof Stripe.errors.StripeInvalidRequestError &&
    error.code === 'payment_intent_unexpected_state'
  if (!refused) return classifyStripeError(error, asked)
  const answered = describeStripeError(error)
  const intent = error.payment_intent
  if (intent === undefined) return unknown(asked, answered, error.message)
  const canceled = intent.status === 'canceled' && intent.id === payment.providerPaymentId
  if (canceled) return declined(error, asked, answered)
  return confirmCapture(payment, intent, answered, asked)
}
