// The audit, against a registry that answers what the test says.
import { execFile } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from '@jest/globals'

const AUDIT = fileURLToPath(new URL('../../dependencies/audit.ts', import.meta.url))

let registry: Server

afterEach(() => {
  registry.close()
})

/** What the audit prints and exits with when the registry knows these weaknesses; undefined: it answers no audit. */
async function audit(weak: readonly string[] | undefined) {
  registry = createServer((request, response) => {
    request.resume()
    const isAudit = request.method === 'POST' && request.url?.endsWith('/advisories/bulk') === true
    response.statusCode = isAudit && weak !== undefined ? 200 : 405
    const advisories = (weak ?? []).map((name) => [name, [adviceFor()]] as const)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(Object.fromEntries(advisories)))
  })
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
  const { port } = registry.address() as AddressInfo
  const env = { ...process.env, npm_config_registry: `http://127.0.0.1:${port}/` }
  return await new Promise<{ code: number; said: string }>((resolve) => {
    const child = execFile(process.execPath, [AUDIT], { env }, (_, said) =>
      resolve({ code: child.exitCode ?? -1, said }),
    )
  })
}

function adviceFor() {
  return {
    id: 1,
    url: 'https://example.com/advisory',
    title: 'Gives everything away',
    severity: 'high',
    vulnerable_versions: '*',
    cwe: [],
    cvss: { score: 0, vectorString: null },
  }
}

test('nothing that is known passes', async () => {
  expect(await audit([])).toEqual({ code: 0, said: 'No weakness is known\n' })
})

test('a weakness in what runs fails', async () => {
  const { code, said } = await audit(['express'])

  expect(said).toContain(
    'high  express, which runs: Gives everything away (https://example.com/advisory)',
  )
  expect(code).toBe(1)
})

test('a weakness in what builds is told', async () => {
  const { code, said } = await audit(['oxlint'])

  expect(said).toContain('high  oxlint, which builds and checks: Gives everything away')
  expect(code).toBe(0)
})

test('a registry that answers no audit is said to have not been asked', async () => {
  const { code, said } = await audit(undefined)

  expect(said).toMatch(/^Not checked: 405 /)
  expect(code).toBe(0)
})
