// The page of the console and its files: what is served, what is not, and what a browser may load.
import { readdirSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { fetchApi } from '../../support/documented.ts'
import { adminApi } from '../../support/for-file.ts'

const POLICY =
  "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const api = adminApi({ CONSOLE: 'on' })

const fetchPath = (path: string, headers: Record<string, string> = {}) =>
  fetchApi(`${api.url}${path}`, { headers })

const ownFiles = readdirSync(new URL('../../../console/', import.meta.url))
  .filter((name) => /\.(?:js|css|svg)$/.test(name))
  .map((name) => `/console/app/${name}`)

const packageFiles = ['preact.js', 'preact-hooks.js', 'htm.js', 'uplot.js', 'uplot.css'].map(
  (name) => `/console/packages/${name}`,
)

const files = [...ownFiles, ...packageFiles]

describe('the page', () => {
  test('loads only files that the service serves', async () => {
    const page = await (await fetchPath('/console')).text()
    const urls = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => String(url))

    expect(urls).toEqual(expect.arrayContaining(['/console/app/main.js', '/console/app/style.css']))
    for (const url of urls) expect((await fetchPath(url)).status).toBe(200)
  })

  test('has a Content-Security-Policy that allows only this host, and complies', async () => {
    const answer = await fetchPath('/console')

    expect(answer.headers.get('content-security-policy')).toBe(POLICY)
    expect(answer.headers.get('cross-origin-opener-policy')).toBe('same-origin')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await answer.text()).not.toMatch(/<script>|<style|\sstyle=|\son\w+=/)
  })
})

describe.each(files)('%s', (file) => {
  const type = file.endsWith('.css') ? 'text/css' : 'text/javascript'

  test('has its type and the policy of the page', async () => {
    const answer = await fetchPath(file)

    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe(
      `${file.endsWith('.svg') ? 'image/svg+xml' : type}; charset=utf-8`,
    )
    expect(answer.headers.get('content-security-policy')).toBe(POLICY)
    expect((await answer.text()).length).toBeGreaterThan(50)
  })

  test('is sent again only when it has changed', async () => {
    const answer = await fetchPath(file)
    const etag = answer.headers.get('etag') ?? ''
    const same = await fetchPath(file, { 'if-none-match': etag })
    const weak = await fetchPath(file, { 'if-none-match': `"old", ${etag}` })
    // The bytes depend on the coding.
    expect(etag).toMatch(/^W\/"[\w-]+"$/)
    const other = await fetchPath(file, { 'if-none-match': '"old"' })

    expect(answer.headers.get('cache-control')).toBe('no-cache')
    expect([same.status, weak.status, other.status]).toEqual([304, 304, 200])
    expect(same.headers.get('etag')).toBe(etag)
    expect(await same.text()).toBe('')
  })

  test('imports nothing by the name of a package, and names no source map', async () => {
    const text = await (await fetchPath(file)).text()
    const imported = [...text.matchAll(/\b(?:from|import)\s*\(?\s*["']([^"'\s]+)["']/g)]

    // Also those in comments, which import types.
    expect(imported.map(([, of]) => of).filter((of) => !/^\.{0,2}\//.test(of ?? ''))).toEqual([])
    expect(text).not.toContain('sourceMappingURL')
  })
})

test.each([
  'tsconfig.json',
  'nothing.js',
  '..%2Fpackage.json',
  '..%2F..%2Fpackage.json',
  '%2e%2e%2fpackage.json',
  '..%5Cpackage.json',
  '%2Fetc%2Fpasswd',
  'main.js%00',
  'constructor',
  '__proto__',
])('neither folder has %s', async (name) => {
  expect((await fetchPath(`/console/app/${name}`)).status).toBe(404)
  expect((await fetchPath(`/console/packages/${name}`)).status).toBe(404)
})

test.each(['/console/', '/console/app', '/console/app/', '/console/app/a/main.js'])(
  '%s does not exist',
  async (path) => {
    expect((await fetchPath(path)).status).toBe(404)
  },
)
