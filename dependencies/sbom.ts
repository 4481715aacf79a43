// `npm run sbom`: the bill of materials of what runs, as CycloneDX 1.5. npm (11.19) makes one of everything; told to
// leave out what only builds, it leaves out as well what both need, the driver of the database for one.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { z } from 'zod'
import { readLockfile, ROOT } from './lockfile.ts'

/** Those of its parts that are looked at; the others stay as they are. */
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
// It has the name of the folder.
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
