// Sends what is in the outbox, signed as Stripe signs (https://docs.stripe.com/webhooks#verify-manually),
// one delivery after the other, and sends again with growing pauses what was not answered with a 2xx.
import { createHmac } from 'node:crypto'
import type { Logger } from 'pino'
import type { Delivery, WebhookOutbox } from './webhook-outbox.ts'

export interface WebhookSender {
  /** Sends what was left over, and from now on what is added. */
  start: () => void
  /** Lets go of the delivery that is being sent; it stays pending. */
  stop: () => Promise<void>
}

export interface WebhookSenderParts {
  outbox: WebhookOutbox
  secret: string
  systemNow: () => number
  logger: Logger
}

/** A receiver that holds on to a delivery does not hold up the others for longer. */
const ANSWER_TIMEOUT_MS = 5_000

const RETRY_DELAY_MS = 100
const RETRY_DELAY_MAX_MS = 60_000
/** About an hour, with these pauses. */
const ATTEMPTS_MAX = 70

/** Puts the sender together. It sends nothing until it is started. */
export function createWebhookSender(parts: WebhookSenderParts): WebhookSender {
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
    start: () => {
      outbox.onChange(wake)
      wake()
    },
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
  const status = await post(
    url,
    delivery.body,
    signBody(delivery.body, secret, systemNow()),
    stopping,
  )
  // A process that stops knows nothing of the answer: the delivery is made again.
  if (stopping.aborted) return
  logger.info({ event: delivery.event, type: delivery.type, status }, 'webhook')
  const isAcknowledged = status !== undefined && status >= 200 && status < 300
  if (isAcknowledged) return outbox.markFinal(delivery, 'sent')
  if (delivery.attempts + 1 >= ATTEMPTS_MAX) return outbox.markFinal(delivery, 'failed')
  const pauseMs = Math.min(RETRY_DELAY_MS * 2 ** delivery.attempts, RETRY_DELAY_MAX_MS)
  outbox.postpone(delivery, systemNow() + pauseMs)
}

/** The status of the answer, or undefined when none came. */
async function post(
  url: string,
  body: string,
  signature: string,
  stopping: AbortSignal,
): Promise<number | undefined> {
  try {
    const { status } = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([stopping, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
    })
    return status
  } catch {
    // Whatever went wrong, the receiver did not acknowledge: all that counts here.
    return undefined
  }
}

/** The `Stripe-Signature` header of a body that is sent at that moment. */
export function signBody(body: string, secret: string, nowMs: number): string {
  const timestamp = Math.floor(nowMs / 1000)
  const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
  return `t=${timestamp},v1=${signature}`
}
