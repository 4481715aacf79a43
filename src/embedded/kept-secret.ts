// Secrets that the stack makes at its first start and keeps in its data folder, for its owner alone.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The secret in that file of the folder; a made one is the prefix and 40 hexadecimal digits. */
export async function readKeptSecret(
  folder: string,
  name: string,
  prefix: string,
): Promise<string> {
  const file = join(folder, name)
  if (!existsSync(file)) await writePrivately(file, `${prefix}${randomBytes(20).toString('hex')}`)
  return readFile(file, 'utf8')
}

/** Writes a file that only its owner may read. The rename keeps a kill in between from leaving half of it. */
export async function writePrivately(file: string, text: string): Promise<void> {
  const unfinished = `${file}.unfinished`
  await writeFile(unfinished, text, { mode: 0o600 })
  await rename(unfinished, file)
}
