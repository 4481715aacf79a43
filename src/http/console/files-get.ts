// GET /console/app/:file and GET /console/packages/:file: the files of the page of the console.
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { OpenEndpoint } from '../endpoint.ts'
import { answerFile } from '../responses/static-file.ts'
import { readOnce } from '../service/read-once.ts'
import { readConsoleFolder, readConsolePackages, type ConsoleFiles } from './files.ts'

/** Everything comes from this host. No script and no style is in the page itself. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export const pagePolicy = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
}

export const getConsoleFile = serve(readOnce(readConsoleFolder))

export const getConsolePackage = serve(readOnce(readConsolePackages))

function serve(read: () => Promise<ConsoleFiles>): OpenEndpoint {
  return async (_parts, request) => {
    const file = (await read()).get(String(request.params['file']))
    if (file === undefined) throw new ProblemError('resource-not-found')
    return answerFile(request, file, pagePolicy)
  }
}
