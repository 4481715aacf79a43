// A process of the product that stands by: everything that its script imports is loaded, and the script itself
// is run when it is told to, as if it were started then. So a killed process has its successor at once.
//
// Started as `node standby.ts <script> [changes]`, in the folder of the product. The changes are a folder, whose
// files are read in place of those of the product.
import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { flushCompileCache, registerHooks } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const IMPORTED = /^import\s(?!type\b)[^'"]*?from\s+'(\.[^']+)'/gm

const [, , path = '', changes] = process.argv
const script = pathToFileURL(path)
if (changes !== undefined) readFrom(changes)
const text = await readFile(script, 'utf8')
for (const [, name = ''] of text.matchAll(IMPORTED)) await import(new URL(name, script).href)
// For those that stand by next: whoever is killed leaves nothing.
flushCompileCache()

// What the script itself listens to on this channel must find it as a new process does.
process.once('message', () => void import(script.href))
process.send?.({ type: 'standing by' })

function readFrom(folder: string): void {
  const root = process.cwd()
  registerHooks({
    load(url, context, nextLoad) {
      const source =
        url.startsWith('file:') && changed(join(folder, relative(root, fileURLToPath(url))))
      return source === false
        ? nextLoad(url, context)
        : { format: 'module-typescript', source, shortCircuit: true }
    },
  })
}

function changed(file: string): string | false {
  return existsSync(file) && readFileSync(file, 'utf8')
}
