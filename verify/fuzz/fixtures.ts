// Creates the objects that the requests refer to: tenants, payments in every final status,
// webhooks, and objects for operator routes. Requests refer to them with placeholders.
import { randomBytes, randomUUIDv7 } from 'node:crypto'
import { openFindings } from '../../src/db/operations/findings.ts'
import { createTenant } from '../../src/db/tenants/tenants.ts'
import { type IdPrefix, parseId, showId } from '../../src/domain/resource-id.ts'
import { secretsOf } from './judge.ts'
import type { Subject } from './subject.ts'

export type Fixtures = Awaited<ReturnType<typeof createFixtures>>

/** Amounts of the payment `payment`, in minor units. */
const [CAPTURED, REFUNDED] = [1_999, 500]
export const HELD_MINOR = 1_500
export const REFUNDABLE_MINOR = CAPTURED - REFUNDED

const KEY_LENGTH = 24

type Json = Record<string, unknown>

/** Creates the fixtures through the API, and writes to the database what the API cannot create. */
export async function createFixtures(subject: Subject) {
  const maker = new FixtureMaker(subject)
  await maker.makeTenants()
  await maker.makePayments()
  await maker.makeWebhooks()
  await maker.makeOperatorObjects()
  await maker.makeDisputes()
  return {
    names: (name: string) => (name === 'new-key' ? makeKey() : maker.known.get(name)),
    secrets: secretsOf(maker.keys),
  }
}

/** Letters only: digits could form a card number. */
function makeKey(): string {
  const letter = (byte: number) => String.fromCharCode(97 + (byte % 26))
  return Array.from(randomBytes(KEY_LENGTH), letter).join('')
}

class FixtureMaker {
  readonly #subject: Subject
  /** What the placeholders stand for. */
  readonly known: Map<string, string>
  readonly keys: Map<string, string>

  constructor(subject: Subject) {
    const { adminKey, webhookSecret, providerKey } = subject
    this.#subject = subject
    this.known = new Map([
      ['admin-key', adminKey],
      ['webhook-secret', webhookSecret],
    ])
    this.keys = new Map([
      ["the operator's key", adminKey],
      ['the webhook secret', webhookSecret],
      ['the key for the provider', providerKey],
    ])
  }

  async makeTenants(): Promise<void> {
    for (const name of ['tenant', 'other-tenant']) {
      const apiKey = `sk_test_${makeKey()}`
      const id = await createTenant(this.#subject.store, { name, apiKey })
      this.known.set(name, showId('tnt', id))
      this.#keep(`${name}-key`, apiKey)
    }
    const tenant = this.#name('tenant')
    for (const [name, scopes] of [
      ['events-key', ['events:read']],
      ['ledger-key', ['ledger:read']],
      ['spare-key', ['events:read']],
      ['ended-key', ['*']],
    ] as const) {
      const created = await this.#admin('POST', `/admin/tenants/${tenant}/keys`, { scopes })
      this.#keep(name, String(created['secret']))
      this.known.set(`${name}-id`, String(created['id']))
    }
    await this.#admin('DELETE', `/admin/keys/${this.#name('ended-key-id')}`)
  }

  async makePayments(): Promise<void> {
    const pay = async (name: string, fields: Json, apiKey?: string) => {
      const card = { amount: CAPTURED, currency: 'usd', payment_method: 'pm_card_visa' }
      const made = await this.#post('/v1/payments', { ...card, ...fields }, apiKey)
      // A decline has the payment as a member.
      const { id } = (made['payment'] ?? made) as { id: string }
      this.known.set(name, id)
      return id
    }
    const succeeded = await pay('payment', {})
    await pay('held-payment', { amount: HELD_MINOR, capture_method: 'manual' })
    await pay('declined-payment', { payment_method: 'pm_card_chargeDeclined' })
    await pay('other-payment', {}, this.#name('other-tenant-key'))
    await pay('disputed-payment', {})
    await pay('dinar-payment', { amount: 5_120, currency: 'bhd' })
    await pay('held-krona-payment', { amount: 50_000, currency: 'isk', capture_method: 'manual' })
    const canceled = await pay('canceled-payment', { capture_method: 'manual' })
    await this.#post(`/v1/payments/${canceled}/cancel`, {})
    const refund = await this.#post(`/v1/payments/${succeeded}/refunds`, { amount: REFUNDED })
    this.known.set('refund', String(refund['id']))
    await this.#nameFirst('event', '/v1/events')
    await this.#nameFirst('ledger-transaction', '/v1/ledger/transactions')
    const [row] = await this.#subject.store.sql<{ id: string; key: string }[]>`
      select id, key from idempotency_keys where payment_id = ${parseId('pay', succeeded) ?? ''}
        and operation = 'payment.create'
    `
    this.known.set('operation', showId('op', row?.id ?? '')).set('used-key', row?.key ?? '')
  }

  /** The delivery belongs to a deleted endpoint and has failed, so nothing is sent. */
  async makeWebhooks(): Promise<void> {
    for (const name of ['webhook-endpoint', 'deleted-endpoint']) {
      const wanted = { url: 'https://fuzz.invalid/', event_types: ['refund.failed'] }
      const made = await this.#post('/v1/webhook-endpoints', wanted)
      this.#keep(`secret of ${name}`, String(made['secret']))
      this.known.set(name, String(made['id']))
    }
    const id = randomUUIDv7()
    await this.#subject.store.sql`
      insert into webhook_deliveries (tenant_id, id, event_id, endpoint_id, status)
      values (
        ${this.#uuid('tnt', 'tenant')}, ${id}, ${this.#uuid('evt', 'event')},
        ${this.#uuid('we', 'deleted-endpoint')}, 'failed'
      )
    `
    this.known.set('webhook-delivery', showId('wd', id))
    await this.#ask('DELETE', `/v1/webhook-endpoints/${this.#name('deleted-endpoint')}`)
  }

  async makeOperatorObjects(): Promise<void> {
    const { sql } = this.#subject.store
    const finding = { provider: 'stripe', objectId: 'pi_fuzz', runId: null, subject: null }
    await openFindings(sql, [{ ...finding, kind: 'missing_here', ours: null, theirs: null }])
    await this.#nameFirst('finding', '/admin/findings', this.#subject.adminKey)
    await this.#admin('POST', `/admin/findings/${this.#name('finding')}/resolve`, { note: 'seen' })
    const window = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }
    const { id } = await this.#admin('POST', '/admin/reconciliations', window)
    this.known.set('reconciliation', String(id))
    await this.#untilCompared(String(id))
  }

  /** Only the provider can open a dispute. Made last: the reconciliation would look for it there. */
  async makeDisputes(): Promise<void> {
    for (const [name, tenant, payment] of [
      ['dispute', 'tenant', 'disputed-payment'],
      ['other-dispute', 'other-tenant', 'other-payment'],
    ] as const) {
      const id = randomUUIDv7()
      await this.#subject.store.sql`
        insert into disputes (
          tenant_id, id, payment_id, provider_dispute_id, amount_minor, currency, reason, status,
          opened_at
        )
        values (
          ${this.#uuid('tnt', tenant)}, ${id}, ${this.#uuid('pay', payment)}, ${`du_${name}`},
          ${CAPTURED}, 'usd', 'fraudulent', 'needs_response', now()
        )
      `
      this.known.set(name, showId('dp', id))
    }
  }

  async #untilCompared(id: string): Promise<void> {
    for (;;) {
      const { status } = await this.#admin('GET', `/admin/reconciliations/${id}`)
      if (status === 'completed') return
      if (status === 'failed') throw new Error('the reconciliation failed')
    }
  }

  #keep(name: string, secret: string): void {
    this.known.set(name, secret)
    this.keys.set(name, secret)
  }

  #name(name: string): string {
    const value = this.known.get(name)
    if (value === undefined) throw new Error(`the fixture ${name} does not exist yet`)
    return value
  }

  #uuid(prefix: IdPrefix, name: string): string {
    return parseId(prefix, this.#name(name)) ?? ''
  }

  async #nameFirst(name: string, path: string, key = this.#name('tenant-key')): Promise<void> {
    const { data } = (await this.#ask('GET', path, undefined, key)) as { data: { id: string }[] }
    this.known.set(name, data[0]?.id ?? '')
  }

  #admin(method: string, path: string, body?: Json): Promise<Json> {
    return this.#ask(method, path, body, this.#subject.adminKey)
  }

  #post(path: string, body: Json, key?: string): Promise<Json> {
    return this.#ask('POST', path, body, key)
  }

  /** Calls the API. A decline is an expected answer. */
  async #ask(method: string, path: string, body?: Json, key?: string): Promise<Json> {
    const response = await fetch(`${this.#subject.apiUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key ?? this.#name('tenant-key')}`,
        'content-type': 'application/json',
        'idempotency-key': makeKey(),
        // All fixtures must be complete before the run starts.
        prefer: 'wait=30',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isFinal = response.ok && (response.status !== 202 || path.startsWith('/admin'))
    if (!isFinal && response.status !== 402) {
      throw new Error(`${method} ${path}: the API answered ${response.status}: ${text}`)
    }
    return (text === '' ? {} : JSON.parse(text)) as Json
  }
}
