-- SHA-256 by the libcrypto that nginx itself is linked with.
local ffi = require "ffi"

ffi.cdef [[
unsigned char *SHA256(const unsigned char *data, size_t length, unsigned char *digest);
]]

local digest = ffi.new("unsigned char[32]")

-- Returns the digest of a string as 64 lower-case hexadecimal digits.
return function(text)
    ffi.C.SHA256(text, #text, digest)
    local digits = {}
    for index = 0, 31 do
        digits[index + 1] = string.format("%02x", digest[index])
    end
    return table.concat(digits)
end
