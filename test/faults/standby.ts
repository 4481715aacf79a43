// A process of the product that stands by: everything that its script imports is loaded, and the script itself
// is run when it is told to, as if it were started then. So a killed process has its successor at once.
//
// Started as `node standby.ts <script>`, in the folder of the product.
import { readFile } from 'node:fs/promises'
import { flushCompileCache } from 'node:module'
import { pathToFileURL } from 'node:url'

const IMPORTED = /^import\s(?!type\b)[^'"]*?from\s+'(\.[^']+)'/gm

const script = pathToFileURL(process.argv[2] ?? '')
const text = await readFile(script, 'utf8')
for (const [, name = ''] of text.matchAll(IMPORTED)) await import(new URL(name, script).href)
// For those that stand by next: whoever is killed leaves nothing.
flushCompileCache()

// What the script itself listens to on this channel must find it as a new process does.
process.once('message', () => void run())
process.send?.({ type: 'standing by' })

async function run(): Promise<void> {
  await import(script.href)
  flushCompileCache()
}
