// What the roles of operators allow: a viewer reads everything and changes nothing.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { routes } from '../../../src/http/server/routes.ts'
import {
  makeUnknown,
  OPERATORS,
  shownId,
  startAdminApi,
  type AdminApi,
} from '../../support/admin.ts'
import { read } from '../../support/client.ts'
import { logIn, type Browser } from '../../support/console.ts'
import { fetchApi } from '../../support/documented.ts'
import { expectProblem } from '../payments.ts'

const VIEWER = 'adm_vera_0123456789abcdef01234'

let api: AdminApi
let browser: Browser

beforeAll(async () => {
  api = await startAdminApi({
    CONSOLE: 'on',
    ADMIN_API_KEY: `alice=${OPERATORS.alice},vera:viewer=${VIEWER}`,
  })
  browser = await logIn(api.url, VIEWER)
})
afterAll(() => api.stop())

const requests = routes.flatMap(({ path, get, post, delete: remove }) => [
  { method: 'GET', path, access: get?.access },
  { method: 'POST', path, access: post?.access },
  { method: 'DELETE', path, access: remove?.access },
])
const routesOf = (access: string) =>
  requests.filter((one) => one.access === access).map(({ method, path }) => [method, path] as const)

const adminRoutes = routesOf('admin')
const reads = adminRoutes.filter(([method]) => method === 'GET')
const changes = adminRoutes.filter(([method]) => method !== 'GET')

const pathOf = (route: string) => route.replaceAll(':id', 'any')

async function askByKey(method: string, route: string, key = VIEWER) {
  const headers = { authorization: `Bearer ${key}` }
  return await read(await fetchApi(`${api.url}${pathOf(route)}`, { method, headers }))
}

describe('a viewer', () => {
  test.each(changes)('may not %s %s, by key or by session', async (method, route) => {
    const answers = [
      await askByKey(method, route),
      await browser.send(method as 'POST' | 'DELETE', pathOf(route)),
    ]
    const trail = await api.trailOf(null)

    for (const answer of answers) {
      expectProblem(answer, 'operator-role-insufficient')
      expect(answer.headers.get('www-authenticate')).toBe(
        'Bearer realm="atomic-payments", error="insufficient_scope"',
      )
    }
    const refused = 'operator-role-insufficient'
    const entry = { actor: 'vera', action: 'operator.refuse', details: { refused, method, route } }
    expect(trail.slice(-2)).toEqual([entry, entry])
  })

  test.each(reads)('may %s %s, by key or by session', async (method, route) => {
    const answers = [await askByKey(method, route), await browser.get(pathOf(route))]

    for (const { status } of answers) expect([200, 404]).toContain(status)
  })

  test('changes nothing with a valid request either', async () => {
    const operation = shownId(await makeUnknown(api))
    const body = { outcome: 'did_not_happen', proof: 'The provider says so.' }
    const answer = await browser.send('POST', `/admin/operations/${operation}/resolve`, body)

    expectProblem(answer, 'operator-role-insufficient')
    const { json } = await browser.get(`/admin/operations/${operation}`)
    expect(json).toMatchObject({ status: 'unknown' })
    expect(await api.trailOf(operation)).toEqual([])
  })

  test('may log out', async () => {
    const own = await logIn(api.url, VIEWER)
    expect((await own.send('DELETE', '/console/session')).status).toBe(204)
  })

  test('is no second operator', async () => {
    const operation = shownId(await makeUnknown(api))
    const body = { outcome: 'did_not_happen', proof: 'The provider says so.', unverified: true }
    const answer = await api.post(`/admin/operations/${operation}/resolve`, body)

    expectProblem(answer, 'second-operator-needed')
  })
})

test('an operator may change something', async () => {
  const answer = await askByKey('POST', '/admin/operations/:id/resume', OPERATORS.alice)
  expectProblem(answer, 'resource-not-found')
})
