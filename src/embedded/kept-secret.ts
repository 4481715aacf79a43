// Secrets that the stack makes at its first start and keeps in its data folder, for its owner alone.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The secret in that file of the folder; it is made when there is none. */
export async function readKeptSecret(
  folder: string,
  name: string,
  make: () => string,
): Promise<string> {
  const file = join(folder, name)
  if (!existsSync(file)) await writePrivately(file, make())
  return readFile(file, 'utf8')
}

/** A secret of 160 bits: the prefix and 40 hexadecimal digits. */
export function makeSecret(prefix: string): string {
  return `${prefix}${randomBytes(20).toString('hex')}`
}

/** Writes a file that only its owner may read. The rename keeps a kill in between from leaving half of it. */
export async function writePrivately(file: string, text: string): Promise<void> {
  const unfinished = `${file}.unfinished`
  await writeFile(unfinished, text, { mode: 0o600 })
  await rename(unfinished, file)
}
