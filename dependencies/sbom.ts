// `npm run sbom`: prints the bill of materials of the runtime packages, as CycloneDX 1.5. It
// filters npm's complete list itself: with development packages omitted, npm 11.19 also omits
// packages that both the runtime and the development tools need, for example the database driver.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { z } from 'zod'
import { readLockfile, ROOT } from './lockfile.ts'

/** The members that this script reads. All others are passed on unchanged. */
const sbomSchema = z.looseObject({
  metadata: z.looseObject({
    component: z.looseObject({ 'bom-ref': z.string() }),
  }),
  components: z.array(z.looseObject({ 'bom-ref': z.string() })),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
})

const EVERYTHING = ['--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application']

const { stdout } = await promisify(execFile)('npm', ['sbom', ...EVERYTHING], {
  cwd: ROOT,
  maxBuffer: 2 ** 26,
})
const { metadata, components, dependencies, ...others } = sbomSchema.parse(JSON.parse(stdout))

const { component } = metadata
const locked = await readLockfile()
const running = new Set([
  component['bom-ref'],
  ...locked.filter(({ dev }) => !dev).map(({ name, version }) => `${name}@${version}`),
])
// npm names the root component after the folder; the package's name is in its reference.
const name = component['bom-ref'].replace(/@[^@]*$/, '')
const sbom = {
  ...others,
  metadata: { ...metadata, component: { ...component, name } },
  components: components.filter((part) => running.has(part['bom-ref'])),
  dependencies: dependencies
    .filter(({ ref }) => running.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((on) => running.has(on)) })),
}
process.stdout.write(`${JSON.stringify(sbom, undefined, 2)}\n`)
