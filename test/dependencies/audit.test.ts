// The audit against a fake registry.
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

/**
 * Runs the audit. The registry has advisories for the vulnerable packages; if undefined, it
 * supports no audit.
 */
async function audit(vulnerable: readonly string[] | undefined) {
  registry = createServer((request, response) => {
    request.resume()
    const isAudit = request.method === 'POST' && request.url?.endsWith('/advisories/bulk') === true
    response.statusCode = isAudit && vulnerable !== undefined ? 200 : 405
    const advisories = (vulnerable ?? []).map((name) => [name, [makeAdvisory()]] as const)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(Object.fromEntries(advisories)))
  })
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
  const { port } = registry.address() as AddressInfo
  const env = { ...process.env, npm_config_registry: `http://127.0.0.1:${port}/` }
  return await new Promise<{ code: number; output: string }>((resolve) => {
    const child = execFile(process.execPath, [AUDIT], { env }, (_, output) =>
      resolve({ code: child.exitCode ?? -1, output }),
    )
  })
}

function makeAdvisory() {
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

test('exits with 0 without known vulnerabilities', async () => {
  expect(await audit([])).toEqual({ code: 0, output: 'No known vulnerabilities\n' })
})

test('exits with 1 for a vulnerable runtime package', async () => {
  const { code, output } = await audit(['express'])

  expect(output).toContain(
    'high  express (runtime): Gives everything away (https://example.com/advisory)',
  )
  expect(code).toBe(1)
})

test('only lists a vulnerable development package', async () => {
  const { code, output } = await audit(['oxlint'])

  expect(output).toContain('high  oxlint (development): Gives everything away')
  expect(code).toBe(0)
})

test('exits with 0 when the registry supports no audit', async () => {
  const { code, output } = await audit(undefined)

  expect(output).toMatch(/^Not checked: 405 /)
  expect(code).toBe(0)
})
