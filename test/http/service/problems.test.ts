// Problem types have a page and a test, and a fault of the service reveals nothing.
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { problems, type ProblemType } from '../../../src/domain/problems/problems.ts'
import { get, paymentBody, post, read } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { service, tenant } from '../../support/shared-service.ts'

const types = Object.keys(problems) as ProblemType[]

test.each(types)('the type %s has a page that explains it', async (type) => {
  const page = await fetchApi(`${service.apiUrl}/problems/${type}`)

  expect(page.status).toBe(200)
  expect(await page.text()).toContain(problems[type].title)
})

test('returns 404 for an unknown type', async () => {
  const answer = await read(await fetchApi(`${service.apiUrl}/problems/constructor`))

  expect(answer).toMatchObject({ status: 404, json: { type: '/problems/resource-not-found' } })
})

test('a test expects every type', () => {
  const folder = new URL('../../../', import.meta.url)
  const tests = ['test', 'verify/fuzz/corpus']
    .flatMap((name) =>
      readdirSync(new URL(name, folder), { recursive: true, encoding: 'utf8' }).map(
        (file) => `${name}/${file}`,
      ),
    )
    .filter((file) => file.endsWith('.test.ts') || file.startsWith('verify/fuzz/corpus/'))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(new URL(file, folder), 'utf8'))
    .join('\n')
  const unexpected = types.filter((type) => !new RegExp(`['/]${type}'`).test(tests))

  expect(unexpected).toEqual([])
})

test('a fault of the service returns 500 without internals, and uses up no idempotency key', async () => {
  const { sql } = service.store
  const key = 'after-the-fault'
  await sql`alter table payments rename to misplaced`
  const [list, created] = await Promise.all([
    get(service.apiUrl, tenant, '/v1/payments'),
    post(service.apiUrl, tenant, '/v1/payments', paymentBody(), { key }),
  ])
  await sql`alter table misplaced rename to payments`
  const retried = await post(service.apiUrl, tenant, '/v1/payments', paymentBody(), { key })

  for (const answer of [list, created]) {
    expect(answer).toMatchObject({ status: 500, json: { type: '/problems/internal-error' } })
    expect(answer.headers.get('retry-after')).toMatch(/^[12]$/)
    expect(answer.text).not.toMatch(/payments"|relation|stack/)
  }
  expect(retried.status).toBe(201)
})
