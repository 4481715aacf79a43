// The OpenAPI document, the page that shows it, and the pages of problem types.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import type { Request } from 'express'
import { problems, type ProblemType } from '../../../src/domain/problems/problems.ts'
import type { ApiParts } from '../../../src/http/endpoint.ts'
import { getDocsFile, getOpenapi } from '../../../src/http/service/docs-get.ts'
import { testInBrowser, withPage } from '../../support/browser.ts'
import { fetchApi } from '../../support/documented.ts'
import { service } from '../../support/shared-service.ts'

const fetchPath = (path: string, headers: Record<string, string> = {}) =>
  fetchApi(`${service.apiUrl}${path}`, { headers })

test('/openapi.yaml is the committed document', async () => {
  const answer = await fetchPath('/openapi.yaml')

  expect(answer.headers.get('content-type')).toBe('application/yaml; charset=utf-8')
  expect(await answer.text()).toBe(
    readFileSync(new URL('../../../openapi.yaml', import.meta.url), 'utf8'),
  )
})

describe('/docs', () => {
  test('loads only files that the service serves', async () => {
    const page = await (await fetchPath('/docs')).text()
    const urls = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => String(url))
    const files = urls.filter((url) => !url.startsWith('data:'))

    expect(files).toEqual(['/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js', '/docs/start.js'])
    for (const file of files) {
      const answer = await fetchPath(file)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('content-type')).toBe(
        file.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
      )
      expect((await answer.text()).length).toBeGreaterThan(100)
    }
  })

  test('is one buffer for all clients, even slow ones', async () => {
    const request = { params: { file: 'swagger-ui-bundle.js' } } as unknown as Request
    for (const endpoint of [getDocsFile, getOpenapi]) {
      const [first, second] = [
        await endpoint({} as ApiParts, request),
        await endpoint({} as ApiParts, request),
      ]

      // Node copies a text for each connection until its client has read it.
      expect(first.body).toBeInstanceOf(Buffer)
      expect(second.body).toBe(first.body)
    }
  })

  test('has a Content-Security-Policy that allows only its own files, and a page that complies', async () => {
    const answer = await fetchPath('/docs')
    const policy = answer.headers.get('content-security-policy') ?? ''

    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    const page = await answer.text()
    expect(page).not.toMatch(/<script>|<style|\sstyle=|\son\w+=/)
  })

  test('starts with the document of this service, and uses no external validator', async () => {
    const start = await (await fetchPath('/docs/start.js')).text()

    expect(start).toContain("url: '/openapi.yaml'")
    expect(start).toContain('validatorUrl: null')
  })

  testInBrowser('shows the operations in a browser without a violation', async () => {
    await withPage(`${service.apiUrl}/docs`, async (page, { requests, complaints }) => {
      await page.getByText('Create a payment').waitFor()

      const elsewhere = requests.filter((url) => !url.startsWith(`${service.apiUrl}/`))
      expect(elsewhere.filter((url) => !url.startsWith('data:'))).toEqual([])
      expect(complaints).toEqual([])
    })
  })

  test.each(['package.json', 'index.html', '..%2Fpackage.json', 'constructor'])(
    'does not serve %s',
    async (file) => {
      expect((await fetchPath(`/docs/${file}`)).status).toBe(404)
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
