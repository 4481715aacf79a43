// `npm run atomic`: the console in a terminal.
import { run } from './run.ts'

const { stdout, stderr, env: environment } = process

// A reader such as `head` that has enough ends the command, with the exit code that it has by then.
for (const stream of [stdout, stderr]) stream.on('error', () => process.exit())

process.exitCode = await run({ words: process.argv.slice(2), environment, stdout, stderr })
