// The OpenAPI documents, the pages that show them, and the pages of problem types.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import type { Request } from 'express'
import { parse } from 'yaml'
import { problems, type ProblemType } from '../../../src/domain/problems/problems.ts'
import type { ApiParts } from '../../../src/http/endpoint.ts'
import { getDocsPage, getOpenapi } from '../../../src/http/service/docs.ts'
import { testInBrowser, withPage } from '../../support/browser.ts'
import { fetchApi } from '../../support/documented.ts'
import { service } from '../../support/shared-service.ts'

interface Operation {
  readonly operationId: string
  readonly summary: string
}

const fetchPath = (path: string, headers: Record<string, string> = {}) =>
  fetchApi(`${service.apiUrl}${path}`, { headers })

const DOCUMENTS = ['openapi.yaml', 'openapi-operators.yaml']

describe.each(DOCUMENTS)('/%s', (name) => {
  const text = readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8')

  test.each(['br', 'gzip', 'identity'])('is as committed, with the coding %s', async (coding) => {
    const answer = await fetchPath(`/${name}`, { 'accept-encoding': coding })

    expect(answer.headers.get('content-type')).toBe('application/yaml; charset=utf-8')
    expect(answer.headers.get('content-encoding') ?? 'identity').toBe(coding)
    expect(answer.headers.get('vary')).toBe('accept-encoding')
    expect(await answer.text()).toBe(text)
    const bytes = Number(answer.headers.get('content-length'))
    expect(bytes).toBeLessThan(coding === 'identity' ? 150_001 : 30_000)
  })

  test('is sent again only when it has changed', async () => {
    const { headers } = await fetchPath(`/${name}`)
    const etag = headers.get('etag') ?? ''
    const again = await fetchPath(`/${name}`, { 'if-none-match': etag })

    expect(headers.get('cache-control')).toBe('no-cache')
    expect([again.status, await again.text()]).toEqual([304, ''])
  })
})

describe('/docs', () => {
  const operations = DOCUMENTS.map((name) => {
    const text = readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8')
    const { paths } = parse(text) as { paths: Record<string, Record<string, Operation>> }
    return Object.values(paths).flatMap((item) => Object.values(item))
  })

  test.each([
    ['/docs', operations[0] ?? []],
    ['/docs/operators', operations[1] ?? []],
  ])('%s leads to the page of each operation', async (index, own) => {
    const page = await (await fetchPath(index)).text()
    const links = [...page.matchAll(/<li><a href="([^"]+)">/g)].map(([, link]) => String(link))

    expect(links).toEqual(expect.arrayContaining(own.map((one) => `/docs/${one.operationId}`)))
    expect(links).toHaveLength(own.length)
    for (const { operationId, summary } of own) {
      const answer = await fetchPath(`/docs/${operationId}`)
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(await answer.text()).toContain(`<h1>${summary}</h1>`)
    }
  })

  test('the page of an operation says what it takes, answers and refuses', async () => {
    const page = await (await fetchPath('/docs/createPayment')).text()

    for (const words of [
      '<code class="request">POST /v1/payments</code>',
      'the scope <code>payments:write</code>',
      '<code>Idempotency-Key</code></td><td>header, required</td>',
      '<code>amount_refunded</code>',
      '<code>provider.payment_id</code></td><td>string | null</td>',
      '"payment_method": "pm_card_visa"',
      '<a href="/problems/payment-declined">',
      '<a href="/problems/idempotency-key-reused">',
      '<a href="/problems/overloaded">',
    ]) {
      expect(page).toContain(words)
    }
  })

  test('is one buffer for all clients, even slow ones', async () => {
    const request = { params: { page: 'createPayment' }, headers: {}, headersDistinct: {} }
    for (const endpoint of [getDocsPage, getOpenapi]) {
      const answers = [1, 2].map(() => endpoint({} as ApiParts, request as unknown as Request))
      const [first, second] = await Promise.all(answers)

      // Node copies a text for each connection until its client has read it.
      expect(first?.body).toBeInstanceOf(Buffer)
      expect(second?.body).toBe(first?.body)
    }
  })

  test('has no scripts, and a Content-Security-Policy that allows only its own style sheet', async () => {
    const answer = await fetchPath('/docs/createPayment')

    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'; style-src 'self'")
    expect(policy).not.toMatch(/unsafe|https?:|\*|script/)
    expect(await answer.text()).not.toMatch(/<script|<style|\sstyle=|\son\w+=/)
  })

  testInBrowser('shows POST /v1/payments with two small requests, light and dark', async () => {
    await withPage(
      `${service.apiUrl}/docs/createPayment`,
      async (page, { requests, complaints }) => {
        await page.getByText('POST /v1/payments', { exact: true }).waitFor()
        const own = requests.filter((url) => !url.startsWith('data:'))
        expect(own).toEqual(
          ['createPayment', 'style.css'].map((name) => `${service.apiUrl}/docs/${name}`),
        )
        const sizes = own.map(async (url) =>
          Number((await fetchApi(url)).headers.get('content-length')),
        )
        expect((await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)).toBeLessThan(20_000)
        expect(complaints).toEqual([])

        const lightness = async (colorScheme: 'light' | 'dark') => {
          await page.emulateMedia({ colorScheme })
          const color = await page.evaluate('getComputedStyle(document.body).backgroundColor')
          return Number(/\d+/.exec(String(color))?.[0])
        }
        expect(await lightness('light')).toBeGreaterThan(200)
        expect(await lightness('dark')).toBeLessThan(60)
      },
    )
  })

  test.each(['package.json', 'index.html', '..%2Fpackage.json', 'constructor'])(
    'does not serve %s',
    async (page) => {
      expect((await fetchPath(`/docs/${page}`)).status).toBe(404)
    },
  )
})

describe('/problems/:type', () => {
  test.each(Object.keys(problems) as ProblemType[])('%s is a page for browsers', async (type) => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
    const page = await fetchPath(`/problems/${type}`, { accept })

    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('vary')).toBe('accept')
    expect(await page.text()).toContain(problems[type].title)
  })

  test.each(['*/*', 'application/json', 'application/json, text/html;q=0.5'])(
    'is JSON for a client that accepts %s',
    async (accept) => {
      const answer = await fetchPath('/problems/invalid-state', { accept })
      const { status, title, meaning } = problems['invalid-state']

      expect(await answer.json()).toEqual({
        type: '/problems/invalid-state',
        title,
        status,
        meaning,
      })
    },
  )

  test('has the status of the service’s flavor', async () => {
    const { url, process } = await service.startApi({ IDEMPOTENCY_FLAVOR: 'stripe' })
    const at = `${url}/problems/idempotency-key-reused`
    const answer = await fetchApi(at)
    const page = await fetchApi(at, { headers: { accept: 'text/html' } })
    process.kill('SIGTERM')

    expect(await answer.json()).toMatchObject({ status: 400 })
    expect(await page.text()).toContain('status 400')
  })
})
