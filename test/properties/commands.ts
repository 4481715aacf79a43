// The actions of a client as fast-check commands. Each command sends its requests over HTTP,
// compares the answers with the model, and then compares everything that can be read.
import { randomUUID } from 'node:crypto'
import { expect } from '@jest/globals'
import type { AsyncCommand } from 'fast-check'
import { post, type ApiResponse } from '../support/client.ts'
import { expectAgreement, expectOverview } from './agreement.ts'
import { afterRace, usesUpKey, type Observed } from './linearize.ts'
import type { Finished, Model, Real } from './model-and-real.ts'
import {
  act,
  amountOf,
  create,
  type Action,
  type Creation,
  type Payment,
  type Request,
  type Told,
} from './model.ts'

type Command = AsyncCommand<Model, Real>

/** Makes every retry wait for the final answer. */
const WAIT = { prefer: 'wait=20' }

async function send(
  { service, tenant }: Real,
  path: string,
  body: Record<string, unknown>,
  key: string,
): Promise<ApiResponse> {
  return await post(service.apiUrl, tenant, path, body, { key, headers: WAIT })
}

function toldBy({ status, json }: ApiResponse): Told {
  const type = json['type']
  return typeof type === 'string' ? { status, problem: type.replace('/problems/', '') } : { status }
}

/** A new key, or the key of a refused request. */
function keyFor(model: Model, reuse: boolean): string {
  return (reuse ? model.refusedKeys.pop() : undefined) ?? randomUUID()
}

/** Creates a payment with `copies` concurrent requests. */
export class Create implements Command {
  readonly creation: Creation
  readonly copies: number

  constructor(creation: Creation, copies: number) {
    this.creation = creation
    this.copies = copies
  }

  check = () => true

  async run(model: Model, real: Real): Promise<void> {
    const request = { key: randomUUID(), path: '/v1/payments', body: { ...this.creation } }
    const answers = await Promise.all(
      Array.from({ length: this.copies }, () =>
        send(real, request.path, request.body, request.key),
      ),
    )
    const [answer, ...others] = answers
    if (answer === undefined) throw new Error('nothing was sent')
    expect(others.map(({ text }) => text)).toEqual(others.map(() => answer.text))
    const shown = (answer.json['payment'] ?? answer.json) as { id: string }
    const { told, payment } = create(shown.id, this.creation)
    expect(toldBy(answer)).toEqual(told)
    model.finished.push({ ...request, answer })
    model.payments.push(payment)
    await expectAgreement(model, real, [payment])
  }

  toString = () => `create ${JSON.stringify(this.creation)} x${this.copies}`
}

/** A request on a payment, with its answer. */
interface Answered extends Observed, Finished {}

/** One or more concurrent actions on one payment. An action may be sent twice with its key. */
export class Act implements Command {
  readonly which: number
  readonly actions: readonly { action: Action; twice: boolean }[]
  readonly reuseKey: boolean

  constructor(which: number, actions: Act['actions'], reuseKey: boolean) {
    this.which = which
    this.actions = actions
    this.reuseKey = reuseKey
  }

  check = (model: Readonly<Model>) => model.payments.length > 0

  async run(model: Model, real: Real): Promise<void> {
    const index = this.which % model.payments.length
    const payment = model.payments[index]
    if (payment === undefined) throw new Error('there is no payment')
    const observed = await this.#sendAll(payment, model, real)
    const after = afterRace(payment, observed)
    if (after === undefined) throw new Error(inexplicable(payment, observed))
    const accepted = rememberAll(model, observed)
    const changed = withRefundIds(after, payment, accepted)
    model.payments[index] = changed
    await expectAgreement(model, real, [changed])
  }

  async #sendAll(payment: Payment, model: Model, real: Real): Promise<Answered[]> {
    const requests = this.actions.flatMap(({ action, twice }) => {
      const request = { kind: action.kind, amount: amountOf(payment, action) }
      const sent = { ...wireOf(payment, request), key: keyFor(model, this.reuseKey), request }
      return twice ? [sent, sent] : [sent]
    })
    return await Promise.all(
      requests.map(async (sent) => {
        const answer = await send(real, sent.path, sent.body, sent.key)
        return { ...sent, answer, told: toldBy(answer) }
      }),
    )
  }

  toString() {
    const actions = this.actions.map(
      ({ action, twice }) =>
        `${action.kind} ${'share' in action ? action.share : ''}${twice ? ' twice' : ''}`,
    )
    const key = this.reuseKey ? ' with a key that was refused before' : ''
    return `on payment ${this.which}: ${actions.join(' || ')}${key}`
  }
}

/** Records the result of each key. Returns the accepted ones, each key once. */
function rememberAll(model: Model, observed: readonly Answered[]): Answered[] {
  const accepted = new Map<string, Answered>()
  for (const one of observed) {
    if (!usesUpKey(one.told)) continue
    // The bytes are the same for all copies.
    expect(one.answer.text).toBe((accepted.get(one.key) ?? one).answer.text)
    accepted.set(one.key, one)
  }
  model.finished.push(...accepted.values())
  const refused = observed.map(({ key }) => key).filter((key) => !accepted.has(key))
  model.refusedKeys.push(...new Set(refused))
  return [...accepted.values()]
}

function wireOf({ id }: Payment, { kind, amount }: Request) {
  const path = `/v1/payments/${id}/${kind === 'refund' ? 'refunds' : kind}`
  return { path, body: amount === undefined ? {} : { amount } }
}

function inexplicable(payment: Payment, observed: readonly Observed[]): string {
  const lines = observed.map(
    ({ request, told }) => `${JSON.stringify(request)} got ${JSON.stringify(told)}`,
  )
  const alone = observed.map(({ request }) => JSON.stringify(act(payment, request).told))
  return `no order explains, on ${JSON.stringify(payment)}:\n${lines.join('\n')}\nalone: ${alone.join(' ')}`
}

/** The model's payment, with the ids of its new refunds from the answers. */
function withRefundIds(after: Payment, before: Payment, accepted: readonly Answered[]): Payment {
  const made = accepted
    .filter(({ request }) => request.kind === 'refund')
    .map(({ answer }) => ({ id: String(answer.json['id']), amount: Number(answer.json['amount']) }))
  const amounts = after.refunds.slice(before.refunds.length).map(({ amount }) => amount)
  const ascending = (one: number, other: number) => one - other
  expect(made.map(({ amount }) => amount).toSorted(ascending)).toEqual(amounts.toSorted(ascending))
  return { ...after, refunds: [...before.refunds, ...made] }
}

/** Sends a completed request again, and expects the same bytes. */
export class Repeat implements Command {
  readonly which: number

  constructor(which: number) {
    this.which = which
  }

  check = (model: Readonly<Model>) => model.finished.length > 0

  async run(model: Model, real: Real): Promise<void> {
    const finished = model.finished[this.which % model.finished.length]
    if (finished === undefined) throw new Error('nothing has finished')
    const { key, path, body, answer } = finished
    const again = await send(real, path, body, key)
    expect({ status: again.status, text: again.text }).toEqual({
      status: answer.status,
      text: answer.text,
    })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    await expectOverview(model, real)
  }

  toString = () => `repeat request ${this.which}`
}

/** Sends another body with the key of a completed request, and expects a refusal. */
export class Misuse implements Command {
  readonly which: number

  constructor(which: number) {
    this.which = which
  }

  check = (model: Readonly<Model>) => model.finished.length > 0

  async run(model: Model, real: Real): Promise<void> {
    const finished = model.finished[this.which % model.finished.length]
    if (finished === undefined) throw new Error('nothing has finished')
    const { key, path, body } = finished
    const answer = await send(real, path, otherBody(path, body), key)
    expect(toldBy(answer)).toEqual({ status: 422, problem: 'idempotency-key-reused' })
    await expectOverview(model, real)
  }

  toString = () => `another body with the key of request ${this.which}`
}

/** A valid but different body for the same operation. */
function otherBody(path: string, body: Record<string, unknown>): Record<string, unknown> {
  if (path.endsWith('/cancel')) return { ...body, reason: 'duplicate' }
  if (path.endsWith('/capture')) return body['amount'] === undefined ? { amount: 1 } : {}
  return { ...body, metadata: { other: 'yes' } }
}
