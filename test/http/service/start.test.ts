// The page at the root, which leads a person to the other pages.
import { expect, test } from '@jest/globals'
import { read } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { expectProblem } from '../payments.ts'
import { adminApi } from '../../support/for-file.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

const api = adminApi({ CONSOLE: 'on' })

test('leads a browser to pages that exist', async () => {
  const answer = await fetchApi(`${api.url}/`, { headers: { accept: BROWSER } })
  const page = await answer.text()
  const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, link]) => String(link))

  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(answer.headers.get('vary')).toBe('accept')
  expect(links).toEqual(expect.arrayContaining(['/console', '/docs']))
  expect(page).toContain('README.md')
  for (const link of links) expect((await fetchApi(`${api.url}${link}`)).status).toBe(200)
})

test('has a Content-Security-Policy that allows nothing, and complies', async () => {
  const answer = await fetchApi(`${api.url}/`, { headers: { accept: BROWSER } })

  expect(answer.headers.get('content-security-policy')).toBe(
    "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  )
  expect(await answer.text()).not.toMatch(/<script|<style|\sstyle=|\son\w+=/)
})

test('does not lead to a console that is switched off', async () => {
  const url = await api.serve({})
  const page = await (await fetchApi(`${url}/`, { headers: { accept: BROWSER } })).text()

  expect(page).not.toContain('href="/console"')
  expect(page).toContain('CONSOLE=on')
})

test.each([
  ['GET', '*/*'],
  ['GET', 'application/json'],
  ['GET', 'application/json, text/html;q=0.5'],
  ['POST', BROWSER],
  ['DELETE', BROWSER],
  ['PUT', BROWSER],
])('does not exist for %s with Accept: %s', async (method, accept) => {
  const answer = await fetchApi(`${api.url}/`, { method, headers: { accept } })
  expectProblem(await read(answer), 'route-not-found')
})
