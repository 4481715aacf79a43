// Reads the ranges of Node versions that `engines` in package.json names.
import { readFileSync } from 'node:fs'

const { engines } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { engines: { node: string } }

/** The lowest version of each range. A range ends with its major version. */
export const lowestVersions = engines.node.split(' || ').map((range) => {
  const [, version] = /^\^(\d+\.\d+\.\d+)$/.exec(range) ?? []
  if (version === undefined) throw new Error(`not a range of one major version: ${range}`)
  return version
})

export function isSupported(version: string): boolean {
  const [major, minor = 0, patch = 0] = version.split('.').map(Number)
  return lowestVersions.some((lowest) => {
    const [lowestMajor, lowestMinor = 0, lowestPatch = 0] = lowest.split('.').map(Number)
    if (major !== lowestMajor) return false
    return minor > lowestMinor || (minor === lowestMinor && patch >= lowestPatch)
  })
}
