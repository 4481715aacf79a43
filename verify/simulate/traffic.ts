// Executes the plans concurrently, each from its payment to its last refund. Operations that have
// no final answer when their client stops polling are left to `awaitFinalAnswers`.
import { setTimeout as wait } from 'node:timers/promises'
import type { Answer, History, Operation, RefusedRequest, RequestContent } from './history.ts'
import { isFinal, LABEL_FIELD, RUN_FIELD } from './history.ts'
import type { Patience, Plan, Resending, Step } from './plans.ts'
import type { Sender } from './sender.ts'
import { inParallel } from './in-parallel.ts'

interface TrafficOptions {
  readonly plans: readonly Plan[]
  readonly concurrency: number
  readonly sender: Sender
  readonly history: History
  /** Aborted to stop the traffic. */
  readonly signal: AbortSignal
  /** Called before each payment with the number of payments started. */
  readonly begun: (payments: number) => Promise<void>
  /** Called after each payment with the number of payments completed. */
  readonly progressed: (payments: number) => void
}

/** How long a client polls before it leaves the operation to `awaitFinalAnswers`. */
const POLLING_MS = 15_000
const POLL_EACH_MS = 250

export async function runTraffic(options: TrafficOptions): Promise<void> {
  const { plans, concurrency, signal } = options
  let over = 0
  await inParallel(plans, concurrency, async (plan, index) => {
    if (signal.aborted) return
    await options.begun(index + 1)
    await runPlan(options, plan)
    options.progressed((over += 1))
  })
}

async function runPlan(options: TrafficOptions, plan: Plan): Promise<void> {
  const { history, signal } = options
  const label = String(plan.number)
  const content = {
    kind: 'payment.create',
    body: {
      amount: plan.amount,
      currency: plan.currency,
      payment_method: plan.paymentMethod,
      capture_method: plan.captureMethod,
      metadata: marksOf(history, label),
    },
  } as const
  const withAmount = (amount: number) => ({ ...content, body: { ...content.body, amount } })
  if (plan.sendsInvalidFirst) {
    await sendRefused(options, withAmount(0), { why: 'invalid', label: `${label}.invalid` })
  }
  const operation = begin(options, content, label)
  const answer = await perform(options, operation, plan)
  // Without an answer the first request may not have arrived. Then the other body would be accepted.
  if (plan.reusesKey && operation.answers.length > 0) {
    const refused = { why: 'reuse', label: `${label}.other` } as const
    await sendRefused(options, withAmount(plan.amount + 1), refused, operation.key)
  }
  if (answer?.status !== 201) return
  const { id = '' } = answer.resource
  for (const [index, step] of plan.steps.entries()) {
    // Stops before the next step. The current step has ended.
    if (signal.aborted) return
    const part = `${label}.${index + 1}`
    const next = begin(options, contentOf(history, step, id, part), part)
    const done = await perform(options, next, step)
    if (done === undefined || done.status >= 400) return
  }
  if (!plan.refundsTooMuch) return
  const tooMuch = refundOf(history, id, plan.amount + 1, label)
  await sendRefused(options, tooMuch, { why: 'too_much', label: `${label}.too-much` })
}

/** What all records of a request have in their metadata. */
function marksOf({ run }: History, label: string): Record<string, string> {
  return { [RUN_FIELD]: run, [LABEL_FIELD]: label }
}

function contentOf(history: History, step: Step, paymentId: string, label: string) {
  if (step.action === 'refund') return refundOf(history, paymentId, step.amount, label)
  if (step.action === 'cancel') return { kind: 'payment.cancel', paymentId } as const
  return { kind: 'payment.capture', paymentId, amount: step.amount } as const
}

function refundOf(history: History, paymentId: string, amount: number, label: string) {
  const body = { amount, metadata: marksOf(history, label) }
  return { kind: 'refund.create', paymentId, body } as const
}

/**
 * Records the operation before its first request, so that the history has it even if the request
 * fails.
 */
function begin({ history }: TrafficOptions, content: RequestContent, label: string): Operation {
  const key = keyOf(history, label)
  const operation: Operation = { content, key, label, answers: [], pending: undefined }
  history.operations.push(operation)
  return operation
}

function keyOf({ run }: History, label: string): string {
  return `${run}-${label}`
}

/** Sends the operation until it has a final answer or its client stops polling. */
async function perform(
  options: TrafficOptions,
  operation: Operation,
  { patience, resending }: { readonly patience: Patience; readonly resending: Resending },
): Promise<Answer | undefined> {
  const resend = async () => {
    if (resending === 'at_once') await sendOnce(options, operation, 'wait')
  }
  await Promise.all([sendOnce(options, operation, patience), resend()])
  if (operation.answers.length === 0) await poll(options, operation)
  if (resending === 'later' && operation.answers.length > 0) {
    await sendOnce(options, operation, 'usual')
  }
  return operation.answers[0]
}

async function sendOnce(
  { sender, signal }: TrafficOptions,
  operation: Operation,
  patience: Patience,
): Promise<void> {
  const answer = await sender.send(operation.content, operation.key, { patience, signal })
  keepAnswer(operation, answer)
}

/** Records the answer of a request in the operation. */
export function keepAnswer(operation: Operation, answer: Answer | undefined): void {
  if (answer !== undefined && isFinal(answer)) operation.answers.push(answer)
  else operation.pending = answer ?? operation.pending
}

/** Polls an accepted operation until it is no longer processing, then requests its final answer. */
async function poll(options: TrafficOptions, operation: Operation): Promise<void> {
  const { sender, signal } = options
  const endsAt = performance.now() + POLLING_MS
  const accepted = operation.pending
  if (accepted?.status === 202) {
    while ((await isProcessing(sender, accepted)) && performance.now() < endsAt) {
      if (signal.aborted) return
      await wait(POLL_EACH_MS)
    }
  }
  if (!signal.aborted) await sendOnce(options, operation, 'wait')
}

async function isProcessing(sender: Sender, { resource }: Answer): Promise<boolean> {
  try {
    return (await readResource(sender, resource)).data?.status === 'processing'
  } catch {
    // The read failed: keep polling until the time limit.
    return true
  }
}

async function readResource({ client }: Sender, { id = '', object }: Answer['resource']) {
  const params = { path: { id } }
  if (object === 'refund') return await client.GET('/v1/refunds/{id}', { params })
  return await client.GET('/v1/payments/{id}', { params })
}

/** Sends a request that the service must refuse, by default without using up its key. */
async function sendRefused(
  { sender, history, signal }: TrafficOptions,
  content: RequestContent & { kind: 'payment.create' | 'refund.create' },
  refused: Pick<RefusedRequest, 'why' | 'label'>,
  key = keyOf(history, refused.label),
): Promise<void> {
  const metadata = { ...content.body.metadata, [LABEL_FIELD]: refused.label }
  const marked = { ...content, body: { ...content.body, metadata } } as RequestContent
  const answer = await sender.send(marked, key, { patience: 'usual', signal })
  history.refused.push({ ...refused, key, answer })
}

interface AwaitOptions {
  readonly sender: Sender
  readonly history: History
  readonly concurrency: number
  readonly seconds: number
  /** Aborted to stop the wait. */
  readonly signal?: AbortSignal
  /** Called after each operation with the number of operations handled so far. */
  readonly progressed?: (handled: number) => void
}

const PAUSE_MS = 1_000

/** The operations without a final answer. */
export function findPending({ operations }: History): Operation[] {
  return operations.filter(({ answers }) => answers.length === 0)
}

export async function awaitFinalAnswers(options: AwaitOptions): Promise<void> {
  const { sender, history, concurrency, seconds, signal } = options
  const timeout = AbortSignal.timeout(seconds * 1_000)
  const limit = signal === undefined ? timeout : AbortSignal.any([signal, timeout])
  let handled = 0
  await inParallel(findPending(history), concurrency, async (operation) => {
    const { content, key, answers } = operation
    while (!limit.aborted) {
      keepAnswer(operation, await sender.send(content, key, { patience: 'wait', signal: limit }))
      if (answers.length > 0) break
      await requestLookup(sender, key)
      await wait(PAUSE_MS, undefined, { signal: limit }).catch(() => {})
    }
    options.progressed?.((handled += 1))
  })
}

/** Reads the resource: for an unknown outcome the service then asks the provider at once. */
async function requestLookup(sender: Sender, key: string): Promise<void> {
  try {
    const params = { path: { key } }
    const { data } = await sender.client.GET('/v1/idempotency-keys/{key}', { params })
    if (data?.resource) await readResource(sender, data.resource)
  } catch {
    // The loop above retries while there is time.
  }
}
