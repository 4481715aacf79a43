import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { z } from 'zod'
import { readPage } from '../support/named-tests.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const sbomSchema = z.object({
  bomFormat: z.literal('CycloneDX'),
  metadata: z.object({ component: z.object({ name: z.literal('atomic-payments') }) }),
  specVersion: z.string(),
  components: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      purl: z.string().startsWith('pkg:npm/'),
      hashes: z.array(z.object({ alg: z.literal('SHA-512'), content: z.string().length(128) })),
      licenses: z.array(z.unknown()).min(1),
    }),
  ),
})

const manifest = z
  .object({
    dependencies: z.record(z.string(), z.string()),
    devDependencies: z.record(z.string(), z.string()),
  })
  .parse(JSON.parse(readPage('package.json')))

test('the bill of materials lists only the runtime packages, with checksums and licences', async () => {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], {
    cwd: ROOT,
    maxBuffer: 2 ** 26,
  })

  const { components } = sbomSchema.parse(JSON.parse(stdout))
  const versions = new Map(components.map(({ name, version }) => [name, version]))
  expect(Object.fromEntries(versions)).toMatchObject(manifest.dependencies)
  expect(versions.has('oxlint')).toBe(false)
  // A development package needs it too.
  expect(versions.has('debug')).toBe(true)
})
