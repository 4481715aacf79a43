// What extras give to tests of the core: each from a file of that name in the folder `test` of the extra.
import { globSync } from 'node:fs'

const ROOT = new URL('../../', import.meta.url)

/** Loads the file of each extra that has it. */
export async function ofExtras<Part>(name: string): Promise<Part[]> {
  const files = globSync(`extras/*/test/${name}`, { cwd: ROOT }).toSorted()
  return await Promise.all(files.map((file) => import(new URL(file, ROOT).href)))
}
