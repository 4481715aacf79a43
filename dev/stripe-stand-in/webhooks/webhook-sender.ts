// Sends the deliveries of the outbox, one after the other, with Stripe's signature
// (https://docs.stripe.com/webhooks#verify-manually). Retries a delivery without a 2xx answer, with
// growing pauses.
import { createHmac } from 'node:crypto'
import type { Logger } from 'pino'
import type { Delivery, WebhookOutbox } from './webhook-outbox.ts'

interface WebhookSenderParts {
  outbox: WebhookOutbox
  secret: string
  systemNow: () => number
  logger: Logger
}

/** A receiver that does not answer delays the other deliveries for at most this time. */
const ANSWER_TIMEOUT_MS = 5_000

const RETRY_DELAY_MS = 100
const RETRY_DELAY_MAX_MS = 60_000
/** About one hour with these pauses. */
const ATTEMPTS_MAX = 70

/** Creates a sender, which does not send before `start`. */
export function createWebhookSender(parts: WebhookSenderParts) {
  const { outbox, systemNow } = parts
  const stopping = new AbortController()
  let sending: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const sendAllDue = async () => {
    for (;;) {
      const { url } = outbox.knobs()
      const delivery = url === null ? undefined : outbox.next(systemNow())
      if (url === null || delivery === undefined || stopping.signal.aborted) return
      await sendOne(parts, delivery, url, stopping.signal)
    }
  }
  const wakeAtNextDue = () => {
    const dueMs = outbox.nextDueMs()
    if (dueMs === undefined || outbox.knobs().url === null || stopping.signal.aborted) return
    timer = setTimeout(wake, Math.max(0, dueMs - systemNow()))
  }
  const wake = () => {
    if (sending !== undefined || stopping.signal.aborted) return
    clearTimeout(timer)
    sending = sendAllDue().finally(() => {
      sending = undefined
      wakeAtNextDue()
    })
  }
  return {
    /** Sends pending deliveries, and new ones from now on. */
    start: () => {
      outbox.onChange(wake)
      wake()
    },
    /** Aborts the current delivery, which stays pending. */
    stop: async () => {
      stopping.abort()
      clearTimeout(timer)
      outbox.onChange(undefined)
      await sending
    },
  }
}

async function sendOne(
  { outbox, secret, systemNow, logger }: WebhookSenderParts,
  delivery: Delivery,
  url: string,
  stopping: AbortSignal,
): Promise<void> {
  const { old_secret: old } = outbox.knobs()
  const secrets = old === null ? [secret] : [secret, old]
  const signature = signBody(delivery.body, secrets, systemNow())
  const status = await post(url, delivery.body, signature, stopping)
  // The answer to an aborted delivery is unknown: the next start sends it again.
  if (stopping.aborted) return
  logger.info({ event: delivery.event, type: delivery.type, status }, 'webhook')
  const isAcknowledged = status !== undefined && status >= 200 && status < 300
  if (isAcknowledged) return outbox.markFinal(delivery, 'sent')
  if (delivery.attempts + 1 >= ATTEMPTS_MAX) return outbox.markFinal(delivery, 'failed')
  const pauseMs = Math.min(RETRY_DELAY_MS * 2 ** delivery.attempts, RETRY_DELAY_MAX_MS)
  outbox.postpone(delivery, systemNow() + pauseMs)
}

/** Returns the status of the answer, or undefined without an answer. */
async function post(
  url: string,
  body: string,
  signature: string,
  stopping: AbortSignal,
): Promise<number | undefined> {
  const answer = fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature },
    body,
    redirect: 'manual',
    signal: AbortSignal.any([stopping, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
  })
  // Every failure means the same: the receiver did not acknowledge the delivery.
  return answer.then(
    ({ status }) => status,
    () => undefined,
  )
}

/** Returns the `Stripe-Signature` header of a body that is sent at `nowMs`. */
export function signBody(body: string, secrets: readonly string[], nowMs: number): string {
  const timestamp = Math.floor(nowMs / 1000)
  const signatures = secrets.map((secret) => {
    const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
    return `,v1=${signature}`
  })
  return `t=${timestamp}${signatures.join('')}`
}
